"""The languages of the site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Language:
    """``folder`` is below the output, ``name`` in the switch, ``docs`` has its pages.

    ``note`` is shown above the English text where a page is missing.
    """

    folder: str
    name: str
    readme: str
    docs: str
    about: str
    schemes: tuple[str, str, str]  # what the button says: as the system, light, dark
    section: str  # what the mark beside a heading says
    note: str = ""


ENGLISH: Final = Language(
    "en",
    "English",
    "README.md",
    "docs",
    "A name server for Apache RocketMQ, and tools for name servers",
    ("Light or dark, as the system", "Light", "Dark"),
    "Link to this section",
)
CHINESE: Final = Language(
    "zh",
    "中文",
    "README.zh-CN.md",
    "docs/zh",
    "Apache RocketMQ 的名字服务器，以及查看名字服务器的工具",
    ("跟随系统", "浅色", "深色"),
    "本节的链接",
    "本页还没有中文版，以下是英文原文。",
)
LANGUAGES: Final = (ENGLISH, CHINESE)


def other(language: Language) -> Language:
    """The one to which the switch leads."""
    return CHINESE if language is ENGLISH else ENGLISH
