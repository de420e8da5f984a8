"""Messages of a catalogue. English ones are their own keys."""

from __future__ import annotations

from functools import cache
from gettext import NullTranslations, translation
from pathlib import Path

from rocketns.languages.choice import LANGUAGES, language

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
