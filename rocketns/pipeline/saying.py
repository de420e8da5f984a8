"""The language of what people read: whole messages of the catalogue. Texts that programs read stay English."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rocketns.languages import language, texts, use

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


def shown(said: tuple[str, Mapping[str, object]]) -> str:
    """A message with its values, in the language of the page."""
    message, values = said
    return _(message) % values
