"""The page and the report: the verdict first, nothing from elsewhere, and no text of a peer that becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from rocketns.shadow.counting.counts import Counts
from rocketns.shadow.status.page import Markup, joined, live_page, report, tag
from tests.shadow.status.standings import HOSTILE, standing


class Read(HTMLParser):
    """Tags, attributes and texts of a page. CDATA content, of a style or a script, is apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_no_text_of_a_peer_becomes_markup_in_the_report_or_the_page() -> None:
    for text in (report(standing()), live_page(standing())):
        assert "<script>alert" not in text
        assert "\u202e" not in text
        assert sum("alert(1)" in one for one in Read(text).texts) >= 6


def test_the_report_is_one_file_that_asks_nobody_for_anything() -> None:
    found = Read(report(standing()))
    assert "script" not in found.tags
    assert "link" not in found.tags
    assert not [name for name, _ in found.attributes if name in ("src", "href", "onclick", "action")]
    assert "url(" not in report(standing())


def test_the_verdict_is_the_first_thing_on_the_page() -> None:
    body = report(standing()).partition("<body>")[2]
    assert re.sub("<[^>]*>", " ", body).split()[:5] == ["1", "of", "41", "answers", "in"]


def test_counts_names_and_pairs_are_on_the_page() -> None:
    texts = Read(report(standing())).texts
    for one in ("GET_ROUTEINFO_BY_TOPIC", "40", "limits", "7", "java:9876", "Pairs that differ", "open", "3"):
        assert one in texts


def test_a_shadow_that_compared_nothing_has_a_page_too() -> None:
    assert "no answers were compared" in report(standing(Counts()))


def test_texts_and_attributes_are_escaped_and_markup_is_not_again() -> None:
    assert tag("b", HOSTILE[:3], title='"') == '<b title="&quot;">&quot;&gt;&lt;</b>'
    assert joined(tag("i", "a"), "<") == "<i>a</i>&lt;"
    assert isinstance(joined("a"), Markup)
