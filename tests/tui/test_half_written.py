"""Files that change while the screen is open: a dump that comes in two halves, and a folder that goes away."""

from __future__ import annotations

from hangview.schema import ReadOptions
from hangview.tui import UiOptions
from hangview.tui.app import HangviewApp
from hangview.tui.looker import Failed, Looked, Looker
from tests.dumps.job import plain, write
from tests.support import incidents
from tests.tui.screens import screen_text, showing

PATIENCE = 60


async def test_the_second_half_of_a_dump_brings_the_finding_without_a_key(tmp_path):
    for rank in range(4):
        write(tmp_path / f"rank_{rank}", plain(4, count=41 if rank == 3 else 42, open_last=rank != 3))
    whole = (tmp_path / "rank_3").read_bytes()
    half = whole.index(b"pg_status")  # before its counters could tell
    (tmp_path / "rank_3").write_bytes(whole[:half])
    folder = str(tmp_path)
    ui = UiOptions(watch=True, poll=0.05)
    app = HangviewApp((folder,), ui, looker=lambda post: Looker((folder,), ReadOptions(), ui, post), rest=0)
    async with app.run_test(size=(100, 30)) as pilot:

        async def wait_for(status: str) -> None:
            for _ in range(PATIENCE * 20):
                await pilot.pause(0.05)
                found = [s for s in app.main.incident.records.sources if s.rank == 3] if app.main.incident else []
                if found and found[0].status == status:
                    return
            raise AssertionError(f"never {status}")

        await wait_for("unfinished")
        assert app.main.incident is not None
        assert app.main.incident.coverage.partial == (3,)
        assert app.main.incident.leads == ()
        with (tmp_path / "rank_3").open("ab") as file:
            file.write(whole[half:])
        await wait_for("read")
        await pilot.pause()
        text = screen_text(app)
        assert "LOOK FIRST" in text
        assert "rank 3" in text
        await pilot.press("ctrl+q")
    assert app.return_value == 1


async def test_a_folder_that_went_away_is_said_in_the_header_as_long_as_it_is_gone():
    gone = "/scratch/run-4711: No such file or directory"
    for size in ((80, 24), (60, 18)):
        async with showing(incidents.four_ranks(), size) as (app, pilot):
            app.post_message(Failed(gone))
            await pilot.pause()
            await pilot.press("j", "k")  # the line that said it is gone by now
            header = screen_text(app).splitlines()[:5]
            assert "LAST LOOK FAILED" in header[0]
            assert "watching" not in header[0]
            assert any("LOOK FIRST  rank 3" in each for each in header)
            said = next(each for each in header if each.startswith("as last read; now /scratch/"))
            assert said.endswith("uch file or directory")  # of 60 columns the middle is left out
            app.post_message(Looked(incidents.four_ranks(), final=True))
            await pilot.pause()
            assert "LAST LOOK FAILED" not in screen_text(app)
            assert gone not in "".join(screen_text(app).splitlines()[:5])
