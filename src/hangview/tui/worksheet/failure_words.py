"""Why something did not work, in other languages than English; what the system itself says stays as it says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.worksheet.failures import Said

if TYPE_CHECKING:
    from collections.abc import Mapping

FAILURES: Mapping[str, Mapping[str, str]] = {
    "ko": {
        "no_space": "디스크에 남은 공간이 없다",
        "quota": "디스크 할당량을 다 썼다",
        "read_only": "파일 시스템이 읽기 전용이다",
        "no_permission": "거기에 쓸 권한이 없다",
        "no_folder": "폴더가 없다",
        "part_no_folder": "경로의 한 부분이 폴더가 아니다",
        "it_is_folder": "폴더이다",
        "long_name": "이름이 너무 길다",
        "stale": "네트워크 파일 시스템에서 사라졌다",
        "disk_error": "디스크가 오류를 알린다",
        "circle": "링크가 서로 맴돈다",
        "not_written": "쓰지 못했다",
        "no_file": "그런 파일이 없다",
        "not_regular": "일반 파일이 아니다",
        "open_elsewhere": "다른 hangview 에서 열려 있다",
        "in_folder": "{why}: {folder}",
        "draft_elsewhere": "초안은 {folder} 에 보관된다; 본래 자리에는 보관하지 못했다: {why}",
        "draft_not_kept": "초안이 보관되지 않는다, 기록지를 다른 곳에 저장해야 한다: {why}",
        "is_folder": "{path} 는 폴더이다",
        "could_not_write": "{path} 에 쓰지 못했다: {why}",
        "could_not_read": "{path} 를 읽지 못했다: {why}",
        "too_large": "{path} 는 기록지로 보기에 너무 크다",
        "not_text": "{path} 는 UTF-8 글이 아니다: 열면 손상된다",
        "no_section": "{path} 에 기록지의 절이 없다",
        "editor_setting": "${name} 를 이해할 수 없다: {why}",
        "editor_file": "편집기에 줄 임시 파일을 만들지 못했다: {why}",
        "editor_start": "{command} 를 시작하지 못했다: {why}",
        "editor_ended": "{command} 가 {code} 로 끝났다; 쓴 것은 {path} 에 있다",
        "editor_gave_up": "{command} 가 {code} 로 끝났다; 칸은 그대로이다",
        "editor_left": "{command} 가 {path} 에 남긴 것을 읽지 못했다",
    }
}


def tell(language: str, message: str) -> str:
    """A message in ``language``: as it is where it is no sentence of ours, or there is no other language for it."""
    table = FAILURES.get(language)
    if table is None or not isinstance(message, Said):
        return message
    values = {name: tell(language, value) if isinstance(value, str) else value for name, value in message.values.items()}
    return table[message.key].format(**values)
