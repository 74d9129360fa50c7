"""Reading in a thread: what the screen is told, that it ends at once, and that a fault in one look is one line."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hangview.schema import ReadOptions, SourceStatus
from hangview.tui import UiOptions
from hangview.tui.app import HangviewApp
from hangview.tui.looker import Begun, Changed, Failed, Looked, Looker, Progress
from hangview.tui.prose import plain
from tests.support import incidents
from tests.tui.screens import screen_text

if TYPE_CHECKING:
    from textual.message import Message

FIXTURES = Path(__file__).parents[2] / "fixtures"
PATIENCE = 60


class FakeSession:
    """Answers with what the test put into ``looks``; an exception is raised, an Incident returned."""

    def __init__(self, paths, options=None, early=None):
        self.looks = list(FakeSession.coming)

    coming: list[object] = []  # noqa: RUF012 - set anew by each test
    on_look = staticmethod(lambda cancelled: None)

    def look(self, on_progress, on_partial, cancelled, settled, on_heads):
        on_progress(1, 2)
        FakeSession.on_look(cancelled)
        answer = self.looks.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, tuple):
            on_partial(answer[0])
            answer = answer[1]
        return answer


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr("hangview.session.Session", FakeSession)
    monkeypatch.setattr(FakeSession, "on_look", staticmethod(lambda cancelled: None))
    return FakeSession


class Box:
    """Collects messages from other threads."""

    def __init__(self) -> None:
        self.got: list[Message] = []
        self.news = threading.Condition()

    def post(self, message: Message) -> None:
        with self.news:
            self.got.append(message)
            self.news.notify_all()

    def wait_for(self, kind: type[Message], count: int = 1) -> list[Message]:
        with self.news:
            assert self.news.wait_for(lambda: sum(isinstance(each, kind) for each in self.got) >= count, PATIENCE)
            return [each for each in self.got if isinstance(each, kind)]


def looker(box: Box, *paths: str, watch: bool = False, **ui: object) -> Looker:
    return Looker(paths or ("somewhere",), ReadOptions(), UiOptions(watch=watch, **ui), box.post)  # type: ignore[arg-type]


def test_tells_progress_parts_and_the_end(session):
    session.coming = [(incidents.healthy(), incidents.four_ranks())]
    box = Box()
    look = looker(box)
    look.start()
    looked = box.wait_for(Looked, 2)
    assert [(each.final, each.incident.leads) for each in looked] == [(False, ()), (True, (3,))]  # type: ignore[attr-defined]
    progress = box.wait_for(Progress)[0]
    assert isinstance(progress, Progress)
    assert (progress.done, progress.total) == (1, 2)
    look.stop()


def test_a_look_that_fails_is_one_line_and_the_next_one_works(session, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session.coming = [FileNotFoundError(2, "No such file or directory", "/gone"), RuntimeError("boom"), incidents.healthy()]
    box = Box()
    look = looker(box)
    look.start()
    first = box.wait_for(Failed)[0]
    assert isinstance(first, Failed)
    assert first.reason == "/gone: No such file or directory"
    look.look_again()
    second = box.wait_for(Failed, 2)[1]
    assert isinstance(second, Failed)
    assert second.reason.startswith("internal error while reading: RuntimeError: boom")
    assert "boom" in (tmp_path / "hangview" / "last-error.txt").read_text()
    look.look_again()
    box.wait_for(Looked)
    look.stop()


def test_stop_cancels_a_look_that_is_going_on_and_says_nothing_more(session):
    session.coming = [incidents.healthy()]
    begun, ended = threading.Event(), threading.Event()

    def hold(cancelled):
        begun.set()
        while not cancelled():
            pass
        ended.set()

    session.on_look = staticmethod(hold)
    box = Box()
    look = looker(box)
    look.start()
    assert begun.wait(PATIENCE)
    look.stop()
    assert ended.wait(PATIENCE)
    assert not [each for each in box.got if isinstance(each, Looked)]


def test_pausing_stops_telling_of_changes(tmp_path):
    box = Box()
    look = looker(box, str(tmp_path), watch=True, poll=0.05)
    look.start()
    box.wait_for(Looked)
    assert look.toggle_pause() is True
    assert "paused" in look.mode
    (tmp_path / "nccl_trace_rank_0").write_bytes(b"x")
    assert look.toggle_pause() is False
    box.wait_for(Changed)
    look.stop()


async def test_real_files_fill_the_screen():
    folder = str(FIXTURES / "two-groups")
    ui = UiOptions(watch=False)
    app = HangviewApp((folder,), ui, looker=lambda post: Looker((folder,), ReadOptions(), ui, post), rest=0)
    async with app.run_test(size=(100, 30)) as pilot:
        for _ in range(PATIENCE * 20):
            await pilot.pause(0.05)
            text = screen_text(app)
            if "LOOK FIRST" in text and "not watching" in text:
                break
        assert "LOOK FIRST  rank 7" in text
        assert "TP1" in text
        assert "not watching" in text
        await pilot.press("r", "equals_sign")
        assert "not watching: r looks again" in plain(app.main.prose("status").prose)
        await pilot.press("slash", *"train", "enter")  # functions and files of real stacks
        assert app.main.hits
        await pilot.press("escape", "slash", *"all_reduce", "enter")
        assert app.main.hits
        await pilot.press("ctrl+q")
    assert app.return_value == 1


async def test_what_a_look_says_reaches_the_screen():
    async with HangviewApp(("run",), UiOptions(), rest=0).run_test(size=(100, 30)) as pilot:
        app = pilot.app
        assert isinstance(app, HangviewApp)
        app.post_message(Progress(12, 64))
        await pilot.pause()
        assert "reading 12 of 64 files" in screen_text(app)
        app.post_message(Looked(incidents.missing_dump(), final=False))
        await pilot.pause()
        assert "SO FAR no record of rank 2" in " ".join(screen_text(app).split())
        app.post_message(Progress(64, 64))
        await pilot.pause()
        assert "comparing ranks" in screen_text(app)
        await pilot.press("j")
        app.post_message(Looked(incidents.four_ranks(), final=True))
        await pilot.pause()
        assert "rank 3 did not request" in screen_text(app)
        assert "now: LOOK FIRST rank 3" in screen_text(app)
        app.post_message(Looked(incidents.four_ranks(), final=True))  # the same again, of itself
        await pilot.pause()
        assert "now: LOOK FIRST rank 3" in screen_text(app)
        await pilot.press("j")
        assert "now: LOOK FIRST" not in screen_text(app)
        app.post_message(Failed("/gone: No such file or directory"))
        await pilot.pause()
        assert "/gone: No such file or directory" in screen_text(app)


async def test_more_files_leave_the_answer_first_and_a_finding_gone_to_current():
    """A dump that goes and comes back: the same finding is the answer again, and ``n`` goes through all of them."""
    with_it, without = incidents.eight_in_five_groups(), incidents.eight_in_five_groups()
    total = len(with_it.findings)
    without = replace(without, findings=without.findings[1:])  # what was second is the first one for a while
    async with HangviewApp(("run",), UiOptions(), rest=0, incident=with_it).run_test(size=(100, 30)) as pilot:
        app = pilot.app
        assert isinstance(app, HangviewApp)
        await pilot.press("j")
        for incident in (without, with_it):
            app.post_message(Looked(incident, final=True))
            await pilot.pause()
            assert app.main.finding_at == 0
        seen = []
        for _ in range(total):
            await pilot.press("n")
            seen.append(app.main.finding_at)
        assert sorted(seen) == list(range(total))

        await pilot.press(*["n"] * ((2 - seen[-1]) % total))
        assert app.main.finding_at == 2  # by hand
        app.post_message(Looked(without, final=True))
        await pilot.pause()
        assert app.main.finding_at == 1  # the same one
        assert "n goes to the first finding" in screen_text(app)
        await pilot.press("n")
        assert app.main.finding_at == 0
        await pilot.press("n")
        assert app.main.finding_at == 1
        app.post_message(Looked(replace(with_it, findings=with_it.findings[:1]), final=True))
        await pilot.pause()
        assert app.main.finding_at == 0  # it is gone


def test_headers_of_a_large_set_come_before_its_records(monkeypatch):
    monkeypatch.setattr("hangview.dumps.heads.SMALL", 1)
    box = Box()
    looker = Looker((str(FIXTURES / "nccl-stuck"),), ReadOptions(cache=False, workers=1), UiOptions(watch=False), box.post)
    looker.start()
    box.wait_for(Looked)
    looker.stop()
    (begun,) = box.wait_for(Begun)
    assert isinstance(begun, Begun)
    assert begun.heads.read == tuple(range(16))
    assert next(type(each) for each in box.got if isinstance(each, Begun | Looked)) is Begun


async def test_a_file_that_does_not_grow_is_not_said_to_be_written():
    """A truncated dump stood in the header as being written for as long as the screen was open."""
    incident = incidents.four_ranks()

    def in_status(*statuses):
        sources = [replace(source, status=status) for source, status in zip(incident.records.sources, statuses, strict=False)]
        return replace(
            incident, records=replace(incident.records, sources=(*sources, *incident.records.sources[len(sources) :]))
        )

    async with HangviewApp(("run",), UiOptions(), rest=0, incident=incident).run_test(size=(100, 30)) as pilot:
        app = pilot.app
        assert isinstance(app, HangviewApp)
        for statuses, said in (
            ((SourceStatus.UNFINISHED,), "1 file may grow"),
            ((SourceStatus.GROWING, SourceStatus.UNFINISHED), "1 file being written"),
            ((SourceStatus.CUT,), ""),
        ):
            app.post_message(Looked(in_status(*statuses), final=True))
            await pilot.pause()
            assert app.main.activity == said


async def test_the_grid_goes_to_a_new_answer_while_files_come_and_nobody_has_pressed_a_key():
    """A set with a cut file opened beside its finding: the file counted as growing in the first look, and the second moved
    nothing."""
    last = incidents.eight_in_five_groups()
    sources = (replace(last.records.sources[0], status=SourceStatus.GROWING), *last.records.sources[1:])
    first = replace(last, findings=last.findings[2:3], leads=(), records=replace(last.records, sources=sources))
    for key, there in (("", True), ("h", False)):
        async with HangviewApp(("run",), UiOptions(), rest=0).run_test(size=(80, 24)) as pilot:
            app = pilot.app
            assert isinstance(app, HangviewApp)
            app.post_message(Looked(first, final=True))
            await pilot.pause()
            await pilot.press(*key)
            app.post_message(Looked(last, final=True))
            await pilot.pause()
            assert (app.main.grid_is_at() == "") is there
            assert "now: LOOK FIRST rank 7" in screen_text(app)
            assert ("n goes to the first finding" in screen_text(app)) is not there
            app.post_message(Looked(incidents.four_ranks(), final=True))
            await pilot.pause()
            assert app.main.following is False  # all files are whole: later looks move nothing
