"""The screen's own words around the worksheet, in each of the worksheet's languages: key line, modes, dialogs, notices, help.

The words on the sheet itself are in :mod:`hangview.worksheet.languages`, why something fails in
:mod:`hangview.tui.worksheet.failure_words`; what the system itself and what the evidence say stays as it is. A key
with ``.one`` beside it is for more than one of something.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from hangview.tui.worksheet.failure_words import tell
from hangview.tui.worksheet.keys import ACTIONS
from hangview.worksheet.store import SaveStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hangview.tui.actions import Action
    from hangview.worksheet.store import SaveResult

_ENGLISH = {
    "mode.keys": "keys",
    "mode.typing": "typing",
    "mode.choosing": "choosing",
    "mode.ticking": "ticking",
    "title": "worksheet",
    "blanks.one": "{n} blank",
    "blanks": "{n} blanks",
    "saved_to": "saved to {path}",
    "changed_since": "saved to {path}, changed since",
    "reading": "evidence still being read",
    "saved.reading": "; the evidence was still being read",
    "saved.offers.one": "; without new evidence of {n} field",
    "saved.offers": "; without new evidence of {n} fields",
    "saved.early": "the saved file has what was read until then: {key} saves it again with what the evidence says by now",
    "draft_kept": "draft kept, not saved",
    "not_saved": "not saved",
    "legend": "_ blank  = from the evidence  * typed",
    "from": "from {origin}",
    "evidence_says": "the evidence says",
    "kept_lines": "kept from the file:",
    "add_here": "add here",
    "more_rows.one": "… {n} more row",
    "more_rows": "… {n} more rows",
    "in_place": "what is typed stands in place of the evidence ({value}); {key} restores it",
    "new_evidence.one": "new evidence: {n} field is filled in otherwise by now: {key} looks",
    "new_evidence": "new evidence: {n} fields are filled in otherwise by now: {key} looks",
    "in_already": "it is in the worksheet already: {label}",
    "sent": "sent to the worksheet: {label}",
    "draft_waits": "the draft is not kept yet: the disk that it belongs on does not answer",
    "no_blank": "no field is blank: {next} goes through all of them",
    "no_changes": "what the evidence fills in has not changed",
    "taken.one": "{n} field taken over from the evidence",
    "taken": "{n} fields taken over from the evidence",
    "taken.none": "nothing taken over from the evidence",
    "declined": "; {n} left as before: {key} shows what was left once more",
    "opened": "opened {path}",
    "drafts_wait": "earlier drafts cannot be looked for: the disk that they lie on does not answer",
    "no_draft": "no earlier draft of this incident",
    "unbound": "{key} does nothing here: {help} lists the keys",
    "text_field_first": "go to a text field first",
    "editor_failed": "the editor failed: {why}",
    "no_editor_here": "this terminal cannot be handed to an editor",
    "result.saved": "saved to {path}",
    "result.left.one": ", {n} blank left",
    "result.left": ", {n} blanks left",
    "result.backup": "; what was there is in {name}",
    "result.unchanged": "{path} holds this worksheet already",
    "result.exists": "{path} exists and is not from this worksheet",
    "result.changed": "{path} was changed by someone else since",
    "do.save": "save",
    "do.open": "open",
    "do.back": "back",
    "save.title": "save the worksheet as markdown",
    "save.relative": "relative to {path}",
    "save.here": "enter saves it here instead: {path}",
    "save.other": "what can be written: {path}",
    "save.stays": "replaced, it stays beside the new one as {name}",
    "open.title": "open a saved worksheet",
    "open.stays": "what was typed until now stays as a draft",
    "draft.title": "a draft of this worksheet is there",
    "draft.written.one": "{n} field written",
    "draft.written": "{n} fields written",
    "draft.nothing": "nothing typed",
    "draft.elsewhere": "open in another hangview: going on makes a copy",
    "draft.changed_there": "saved to {path}, changed there since",
    "draft.going_on": "going on with the draft",
    "draft.copied": "going on with the draft (a copy, as it is open in another hangview)",
    "draft.no_file": "this draft was not saved to a file",
    "draft.not_deleted": "not deleted: {why}",
    "draft.delete": "delete the draft of {when} for good?",
    "draft.deleted": "the draft of {when} is deleted",
    "draft.stays": "the draft stays",
    "typed_early": "not used, for it was typed before this question: {typed}",
    "changes.title": "new evidence: take over what is ticked",
    "changes.again": "new evidence, declined before: take over what is ticked",
    "changes.ticked": "{ticked} of {total} ticked",
    "changes.none": "none of {total} ticked: nothing is taken over",
    "changes.now": "now",
    "changes.new": "new",
    "changes.gone": "gone",
    "preview.title": "preview · {key} closes",
    "help.about": "what is typed goes into the field with the focus; esc leaves the field, then keys are commands",
    "help.form": "outside of fields",
    "help.everywhere": "everywhere, inside fields too",
    "help.line": "in a field of one line",
    "help.tick": "on a line to tick",
    "help.choice": "on a choice",
    **{f"label {action.id}": action.label for action in ACTIONS},
    **{f"does {action.id}": action.help for action in ACTIONS},
}

_KOREAN = {
    "mode.keys": "명령",
    "mode.typing": "입력",
    "mode.choosing": "선택",
    "mode.ticking": "표시",
    "title": "기록지",
    "blanks.one": "빈칸 {n}",
    "blanks": "빈칸 {n}",
    "saved_to": "{path} 에 저장함",
    "changed_since": "{path} 에 저장함, 그 뒤 바뀜",
    "reading": "증거를 아직 읽는 중",
    "saved.reading": "; 증거를 아직 읽는 중이었다",
    "saved.offers.one": "; {n}개 칸의 새 증거는 빠져 있다",
    "saved.offers": "; {n}개 칸의 새 증거는 빠져 있다",
    "saved.early": "저장한 파일에는 그때까지 읽은 것만 있다: {key} 로 지금의 증거와 함께 다시 저장한다",
    "draft_kept": "초안 보관됨, 저장 안 됨",
    "not_saved": "저장 안 됨",
    "legend": "_ 빈칸  = 증거에서  * 입력함",
    "from": "출처: {origin}",
    "evidence_says": "증거로는",
    "kept_lines": "파일에 있던 줄:",
    "add_here": "여기에 덧붙임",
    "more_rows.one": "… {n}줄 더",
    "more_rows": "… {n}줄 더",
    "in_place": "입력한 것이 증거의 값({value})을 대신한다; {key} 로 되돌린다",
    "new_evidence.one": "새 증거: {n}개 칸의 값이 이제 다르다: {key} 로 본다",
    "new_evidence": "새 증거: {n}개 칸의 값이 이제 다르다: {key} 로 본다",
    "in_already": "이미 기록지에 있다: {label}",
    "sent": "기록지로 보냄: {label}",
    "draft_waits": "초안을 아직 보관하지 못했다: 보관할 디스크가 응답하지 않는다",
    "no_blank": "비어 있는 칸이 없다: {next} 으로 모든 칸을 돈다",
    "no_changes": "증거에서 채운 값은 바뀌지 않았다",
    "taken.one": "증거의 값 {n}개를 받아들임",
    "taken": "증거의 값 {n}개를 받아들임",
    "taken.none": "증거에서 받아들인 것이 없다",
    "declined": "; {n}개는 그대로 두었다: {key} 로 다시 본다",
    "opened": "{path} 를 열었다",
    "drafts_wait": "이전 초안을 찾지 못했다: 초안이 있는 디스크가 응답하지 않는다",
    "no_draft": "이 장애의 이전 초안이 없다",
    "unbound": "{key} 는 여기서 하는 일이 없다: {help} 에 키 목록이 있다",
    "text_field_first": "먼저 글을 쓰는 칸으로 간다",
    "editor_failed": "편집기가 실패했다: {why}",
    "no_editor_here": "이 터미널은 편집기에 넘길 수 없다",
    "result.saved": "{path} 에 저장함",
    "result.left.one": ", 빈칸 {n} 남음",
    "result.left": ", 빈칸 {n} 남음",
    "result.backup": "; 있던 것은 {name} 에 있다",
    "result.unchanged": "{path} 에 이미 이 기록지가 있다",
    "result.exists": "{path} 는 이미 있고 이 기록지의 파일이 아니다",
    "result.changed": "{path} 를 그동안 다른 사람이 바꾸었다",
    "do.save": "저장",
    "do.open": "열기",
    "do.back": "돌아감",
    "save.title": "기록지를 markdown 으로 저장",
    "save.relative": "기준 폴더: {path}",
    "save.here": "enter 를 누르면 여기에 저장한다: {path}",
    "save.other": "쓸 수 있는 곳: {path}",
    "save.stays": "바꾸어도 이전 것은 {name} 으로 남는다",
    "open.title": "저장한 기록지 열기",
    "open.stays": "지금까지 쓴 것은 초안으로 남는다",
    "draft.title": "이 기록지의 초안이 있다",
    "draft.written.one": "{n}개 칸을 씀",
    "draft.written": "{n}개 칸을 씀",
    "draft.nothing": "쓴 것 없음",
    "draft.elsewhere": "다른 hangview 에서 열려 있음: 이어 쓰면 복사본이 된다",
    "draft.changed_there": "{path} 에 저장함, 그 뒤 거기서 바뀜",
    "draft.going_on": "초안을 이어 쓴다",
    "draft.copied": "초안을 이어 쓴다 (다른 hangview 에서 열려 있어 복사본으로)",
    "draft.no_file": "이 초안은 파일로 저장되지 않았다",
    "draft.not_deleted": "지우지 못함: {why}",
    "draft.delete": "{when} 의 초안을 아주 지울까?",
    "draft.deleted": "{when} 의 초안을 지웠다",
    "draft.stays": "초안은 그대로 있다",
    "typed_early": "이 질문이 나오기 전에 입력하여 쓰지 않은 것: {typed}",
    "changes.title": "새 증거: 표시한 것을 받아들인다",
    "changes.again": "새 증거, 전에 받아들이지 않음: 표시한 것을 받아들인다",
    "changes.ticked": "{total}개 가운데 {ticked}개 표시함",
    "changes.none": "{total}개 가운데 표시한 것이 없다: 아무것도 받아들이지 않는다",
    "changes.now": "지금",
    "changes.new": "새로",
    "changes.gone": "빠짐",
    "preview.title": "미리보기 · {key} 로 닫음",
    "help.about": "입력은 초점이 있는 칸에 들어간다; esc 로 칸을 떠나면 키가 명령이 된다",
    "help.form": "칸 밖에서",
    "help.everywhere": "칸 안에서도, 어디서나",
    "help.line": "한 줄 칸에서",
    "help.tick": "표시하는 줄에서",
    "help.choice": "선택 칸에서",
    "label sheet_save": "저장",
    "label sheet_save_as": "다른 이름",
    "label sheet_first_blank": "첫 빈칸",
    "label sheet_preview": "미리보기",
    "label sheet_changes": "새 증거",
    "label sheet_another_hypothesis": "가설",
    "label sheet_open": "열기",
    "label sheet_drafts": "초안",
    **{f"label sheet_section({number})": "절" for number in range(1, 9)},
    **{f"label sheet_choose_number({number})": "답" for number in range(1, 9)},
    "label sheet_down": "아래",
    "label sheet_up": "위",
    "label sheet_page_down": "다음 쪽",
    "label sheet_page_up": "이전 쪽",
    "label sheet_top": "처음",
    "label sheet_bottom": "끝",
    "label sheet_help": "도움말",
    "label sheet_close": "돌아감",
    "label sheet_leave": "칸 떠남",
    "label sheet_next_field": "다음 칸",
    "label sheet_previous_field": "이전 칸",
    "label sheet_save_here": "저장",
    "label sheet_help_here": "도움말",
    "label sheet_editor": "편집기",
    "label sheet_undo": "되돌림",
    "label sheet_tick": "표시",
    "label sheet_choose_next": "다음 답",
    "label sheet_choose_previous": "이전 답",
    "label sheet_choose_none": "답 없음",
    "label sheet_replace": "바꾸기",
    "label sheet_other_name": "다른 이름",
    "label sheet_cancel": "돌아감",
    "label sheet_take_draft": "이어 씀",
    "label sheet_begin_anew": "새로 시작",
    "label sheet_open_saved": "저장본 열기",
    "label sheet_delete_draft": "지우기",
    "label sheet_delete_surely": "아주 지우기",
    "label sheet_take_ticked": "받아들임",
    "label sheet_tick_all": "모두 표시/해제",
    "does sheet_save": "markdown 으로 저장한다; 처음에는 어디에 저장할지 묻는다",
    "does sheet_save_as": "다른 이름의 markdown 으로 저장한다",
    "does sheet_first_blank": "비어 있는 다음 칸에 쓴다",
    "does sheet_preview": "markdown 이 어떻게 보이는지",
    "does sheet_changes": "새 증거가 다르게 채우는 것: 받아들이거나 둔다",
    "does sheet_another_hypothesis": "가설을 하나 더 적을 자리",
    "does sheet_open": "저장한 기록지를 열어 이어 쓴다",
    "does sheet_drafts": "이 장애의 이전 초안",
    **{f"does sheet_section({number})": f"{number}절을 맨 위로" for number in range(1, 9)},
    **{f"does sheet_choose_number({number})": f"{number}번째 답" for number in range(1, 9)},
    "does sheet_down": "아래로",
    "does sheet_up": "위로",
    "does sheet_page_down": "한 쪽 아래로",
    "does sheet_page_up": "한 쪽 위로",
    "does sheet_top": "첫 절",
    "does sheet_bottom": "마지막 절",
    "does sheet_help": "기록지의 키",
    "does sheet_close": "격자로 돌아간다; 잃는 것은 없다",
    "does sheet_leave": "칸을 떠난다; 칸 밖에서는 격자로 돌아간다",
    "does sheet_next_field": "다음 칸",
    "does sheet_previous_field": "이전 칸",
    "does sheet_save_here": "저장, 칸 안에서도",
    "does sheet_help_here": "기록지의 키, 칸 안에서도",
    "does sheet_editor": "이 칸을 $VISUAL 이나 $EDITOR 로 고친다",
    "does sheet_undo": "칸에 있던 이전 값으로",
    "does sheet_tick": "이 줄을 표시하거나 해제한다",
    "does sheet_choose_next": "다음 답",
    "does sheet_choose_previous": "앞의 답",
    "does sheet_choose_none": "답을 거둔다",
    "does sheet_replace": "파일을 바꾼다; 있던 것은 ~ 를 붙여 옆에 남긴다",
    "does sheet_other_name": "다른 이름을 쓴다",
    "does sheet_cancel": "바꾸지 않고 닫는다",
    "does sheet_take_draft": "초안을 이어 쓴다",
    "does sheet_begin_anew": "초안은 그대로 둔다",
    "does sheet_open_saved": "초안 대신 그것을 저장한 파일을 연다",
    "does sheet_delete_draft": "초안을 지운다; 먼저 묻는다",
    "does sheet_delete_surely": "초안을 지울지 묻는 물음에서: 아주 지운다",
    "does sheet_take_ticked": "표시한 것을 받아들이고, 나머지는 그대로 두고 다시 권하지 않는다",
    "does sheet_tick_all": "모두 표시하거나 해제한다",
}


@dataclass(frozen=True, slots=True, eq=False)
class ScreenWords:
    """The words of one language, by key."""

    code: str
    table: Mapping[str, str]

    def __call__(self, key: str, /, **values: object) -> str:
        """The words of a key, with values in their places. KeyError for a key that is not there."""
        return self.table[key].format(**values)

    def count(self, key: str, number: int, /, **values: object) -> str:
        """The words for so many of something."""
        return self(f"{key}.one" if number == 1 else key, n=f"{number:,}", **values)

    def label(self, action: Action) -> str:
        """The word of the key line; an action of another screen keeps its own."""
        return self.table.get(f"label {action.id}", action.label)

    def does(self, action: Action) -> str:
        """What an action does, for the help."""
        return self.table.get(f"does {action.id}", action.help)

    def tell(self, message: str) -> str:
        """Why something did not work; what the system itself says stays as it says it."""
        return tell(self.code, message)

    def result(self, result: SaveResult, blanks: int) -> str:
        """What became of a save."""
        if result.status is SaveStatus.FAILED:
            return self.tell(result.message)
        said = self(f"result.{result.status}", path=result.path)
        if result.status is SaveStatus.SAVED:
            said += self.count("result.left", blanks) if blanks else ""
            said += self("result.backup", name=result.backup.name) if result.backup is not None else ""
        return said


ENGLISH = ScreenWords("en", MappingProxyType(_ENGLISH))
KOREAN = ScreenWords("ko", MappingProxyType(_KOREAN))
SCREEN_WORDS: Mapping[str, ScreenWords] = {words.code: words for words in (ENGLISH, KOREAN)}


def words_of(language: str, *, ascii_only: bool) -> ScreenWords:
    """The words for a worksheet in ``language``; English for others and where only ASCII can be drawn."""
    return ENGLISH if ascii_only else SCREEN_WORDS.get(language, ENGLISH)
