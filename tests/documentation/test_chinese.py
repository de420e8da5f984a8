"""The ends of lines in Chinese text, which a browser shows as spaces."""

from __future__ import annotations

import pytest
from website.chinese import joined


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("路由，\n主题", "路由，主题"),
        ("路由\n（主题）", "路由（主题）"),
        ("路由\n主题", "路由主题"),
        ("<li>路由、\n    主题</li>", "<li>路由、主题</li>"),
        ("路由。\n<code>a</code>", "路由。<code>a</code>"),
        ("<strong>路由。</strong>\nBroker", "<strong>路由。</strong>Broker"),
        ("路由的\n<strong>主题</strong>", "路由的<strong>主题</strong>"),
        ("“路由”\n主题", "“路由”主题"),
        ("主题\n<em>“路由”</em>", "主题<em>“路由”</em>"),
    ],
)
def test_no_space_beside_full_width_punctuation_and_between_characters(written: str, expected: str) -> None:
    assert joined(written) == expected


@pytest.mark.parametrize(
    "text",
    [
        "路由\nBroker",
        "Broker\n路由",
        "路由\n<code>a</code>",
        "a route,\nof “a topic”\n“and b”",
        "<pre>路由。\n    主题\n</pre>",
    ],
)
def test_other_ends_of_lines_stay(text: str) -> None:
    assert joined(text) == text
