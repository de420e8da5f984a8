"""The texts of the status page outside its scripts: those of its markup, and the reasons of `/api/v1/status`."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from babel.messages.extract import extract_from_file

from rocketns.admin.api import assessing
from tests.check.source import ROOT

PAGE = ROOT / "rocketns" / "admin" / "page" / "static" / "index.html"
MARK = "data-text"  # its content is a message
ATTRIBUTES = ("aria-label", "placeholder")


class Markup(HTMLParser):
    """Collects what `translatePage` of the page's scripts translates."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._is_marked = False

    def handle_starttag(self, _: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self._is_marked = MARK in given
        self.texts += [text for name in ATTRIBUTES if (text := given.get(name))]

    def handle_endtag(self, _: str) -> None:
        self._is_marked = False

    def handle_data(self, data: str) -> None:
        if self._is_marked:
            self.texts.append(data)


def page_texts() -> Iterator[str]:
    """All of them."""
    markup = Markup()
    markup.feed(PAGE.read_text("utf-8"))
    yield from markup.texts
    for _, message, _, _ in extract_from_file("python", assessing.__file__, keywords={"N_": None}):
        assert isinstance(message, str)
        yield message
