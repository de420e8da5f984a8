"""The language of what people read: whole messages of the catalogue. Texts that programs read stay English."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rocketns.languages import language, texts, use
from rocketns.languages.texts import ENGLISH, LANGUAGES

OTHERS = tuple(name for name in LANGUAGES if name != ENGLISH)

_ = texts("audit")


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """Texts within this block are in that language."""
    before = language()
    use(name)
    try:
        yield
    finally:
        use(before)


class Said(str):
    """A text for programs, in English, that can be said again in the language of the page."""

    again: Callable[[], str]


def said(say: Callable[[], str]) -> Said:
    """What ``say`` says, called again for each language."""
    with speaking(ENGLISH):
        one = Said(say())
    one.again = say
    return one


def shown(text: str) -> str:
    """A text in the language of the page, if it was ``said``; otherwise as it is."""
    return text.again() if isinstance(text, Said) else text
