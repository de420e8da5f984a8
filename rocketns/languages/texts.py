"""Which language a program speaks, one for the whole process; and the messages of its catalogues. English ones are
their own keys. What programs read stays English: log lines, metrics, remarks of answers, keys of JSON.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from gettext import NullTranslations, translation
from pathlib import Path

ENGLISH, CHINESE = "en", "zh"
LANGUAGES = {ENGLISH: "en", CHINESE: "zh_CN"}  # with the locale whose catalogues it has
OPTION = "--language"
VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first that is set counts, as in setlocale(3)

_chosen = ENGLISH


def language() -> str:
    """``en`` or ``zh``."""
    return _chosen


def use(name: str) -> None:
    """Speak it from now on. KeyError if it is not one of LANGUAGES."""
    global _chosen  # noqa: PLW0603 a process has one, as it has one locale
    LANGUAGES[name]
    _chosen = name


def choose(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> str:
    """Use the language of the option `--language`, otherwise that of the environment. The language.

    It is asked before the options are parsed, because `--help` ends the parsing. What is no language is left to the
    parser, which complains.
    """
    use(_of_option(arguments) or of_environment(environment))
    return _chosen


def of_environment(environment: Mapping[str, str]) -> str:
    """``LANG=zh_CN.UTF-8`` is Chinese; whatever has no catalogue is English."""
    locale = next((text for name in VARIABLES if (text := environment.get(name))), "")
    return CHINESE if locale.lower().startswith(CHINESE) else ENGLISH


def _of_option(arguments: Sequence[str]) -> str | None:
    for index, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == OPTION:
            given = value if equals else next(iter(arguments[index + 1 :]), "")
            return given if given in LANGUAGES else None
    return None


FOLDER = Path(__file__).parent / "locale"


def N_(message: str) -> str:  # noqa: N802 gettext's own name
    """The message itself: a mark for constants, which are looked up when they are shown."""
    return message


class Texts:
    """The messages of one domain, in the language that is used at the call."""

    def __init__(self, domain: str) -> None:
        self._domain = domain

    def __call__(self, message: str) -> str:
        """The message in the current language; itself where its catalogue lacks it."""
        return self._catalogue().gettext(message) if message else ""  # the empty one is the catalogue's header

    def plural(self, one: str, many: str, count: int) -> str:
        """The form of a message for a number."""
        return self._catalogue().ngettext(one, many, count)

    def _catalogue(self) -> NullTranslations:
        return catalogue(self._domain, LANGUAGES[language()])


def texts(domain: str) -> Texts:
    """The messages of a room: ``_ = texts("doctor")``."""
    return Texts(domain)


@cache
def catalogue(domain: str, locale: str) -> NullTranslations:
    """An empty one where there is no file: English, and a checkout that was not built."""
    return translation(domain, FOLDER, [locale], fallback=True)
