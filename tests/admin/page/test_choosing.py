"""The language of the page: the address before the browser, and English where it speaks none of the browser's."""

from __future__ import annotations

import pytest

from rocketns.admin.page.files import RANGES_MAX, chosen
from tests.admin.conftest import Managed


@pytest.mark.parametrize(
    ("asked", "accepted", "language"),
    [
        (None, "", "en"),
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "en-GB,en;q=0.9,zh;q=0.8", "en"),
        (None, "en;q=0.2, ZH-Hant-TW;q=0.7", "zh"),
        (None, "de, fr;q=0.9, zh;q=0.1", "zh"),
        (None, "zh;q=0, en", "en"),
        (None, "zh;q=nan, zh;q=, zh;level=1, *;q=1", "en"),
        (None, "de," * RANGES_MAX + "zh", "en"),
        ("zh", "en", "zh"),
        ("en", "zh", "en"),
        ("fr", "zh", "zh"),
    ],
)
def test_the_first_language_that_the_page_speaks(asked: str | None, accepted: str, language: str) -> None:
    assert chosen(asked, accepted) == language


def test_the_page_is_in_the_language_that_was_asked_for(managed: Managed) -> None:
    assert b'<html lang="en">' in managed.http.ask("/").body
    answer = managed.http.ask("/?lang=zh")
    assert b'<html lang="zh-CN">' in answer.body
    assert answer.headers["vary"] == "Accept-Language"
    assert "一切正常".encode() in managed.http.ask("/page/zh.json").body
