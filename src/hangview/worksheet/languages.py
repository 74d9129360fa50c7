"""The languages that are built in, by code. Another one is one more table and one more line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangview.worksheet.english import ENGLISH
from hangview.worksheet.korean import KOREAN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hangview.worksheet.layout import Language

LANGUAGES: Mapping[str, Language] = {language.code: language for language in (ENGLISH, KOREAN)}
