"""Which files are pages, and where their links lead."""

from __future__ import annotations

from pathlib import Path

import pytest
from website.languages import CHINESE, ENGLISH, Language
from website.links import ACROSS, target
from website.navigation import NotNamed, named, navigation
from website.pages import collected
from website.staging import page

from tests.check.source import ROOT

FILES = {
    "README.md": "# R\n[a](docs/a.md)\n[s](LICENSE)\n",
    "README.zh-CN.md": "# 读\n",
    "LICENSE": "Do `what` you want\n",
    "docs/a.md": "# A\n\n## Part one\n\n[map](../MAP.md) ![picture](images/p.png) [deep](design/d.md)\n",
    "docs/b.md": "# B\n\n## First\n",
    "docs/design/d.md": "# D\n[a](../a.md#part-one)\n",
    "docs/images/p.png": "",
    "docs/zh/a.md": "# 甲\n\n## 第一部分\n\n[English](../a.md) [b](../b.md)\n",
    "MAP.md": "# M\n[more](tools/t.yml)\n",
    "tools/t.yml": "a: 1\n",
    "unlinked.md": "# U\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_the_pages_are_docs_and_what_they_lead_to(root: Path) -> None:
    assert collected(root, ENGLISH).sources == {
        "index.md": "README.md",
        "a.md": "docs/a.md",
        "b.md": "docs/b.md",
        "design/d.md": "docs/design/d.md",
        "LICENSE.md": "LICENSE",
        "MAP.md": "MAP.md",
        "images/p.png": "docs/images/p.png",
        "tools/t.yml.md": "tools/t.yml",
    }


def test_a_page_without_a_chinese_text_is_shown_in_english_with_a_note(root: Path) -> None:
    pages = collected(root, CHINESE)
    assert (pages.sources["a.md"], pages.sources["b.md"]) == ("docs/zh/a.md", "docs/b.md")
    assert CHINESE.note in page(pages, "b.md")
    assert CHINESE.note not in page(pages, "a.md")
    assert CHINESE.note not in page(pages, "LICENSE.md")


@pytest.mark.parametrize(
    ("language", "name", "link", "expected"),
    [
        (ENGLISH, "index.md", "docs/a.md", "a.md"),
        (ENGLISH, "index.md", "LICENSE", "LICENSE.md"),
        (ENGLISH, "a.md", "../MAP.md", "MAP.md"),
        (ENGLISH, "design/d.md", "../a.md#part-one", "../a.md#part-one"),
        (ENGLISH, "MAP.md", "tools/t.yml", "tools/t.yml.md"),
        (ENGLISH, "a.md", "#part-one", "#part-one"),
        (ENGLISH, "a.md", "gone.md", "gone.md"),
        (ENGLISH, "a.md", "https://example.com/x.md", "https://example.com/x.md"),
        (ENGLISH, "index.md", "README.zh-CN.md", f"{ACROSS}index.html"),
        (ENGLISH, "index.md", "docs/zh/a.md", f"{ACROSS}a.html"),
        # between the two versions of one page; a page that is in English only; one that is not
        (CHINESE, "a.md", "../a.md", f"{ACROSS}a.html"),
        (CHINESE, "a.md", "../b.md", "b.md"),
        (CHINESE, "b.md", "a.md", "a.md"),
        # a heading of the English page only, and one that the Chinese page has
        (CHINESE, "b.md", "a.md#part-one", f"{ACROSS}a.html#part-one"),
        (CHINESE, "b.md", "zh/a.md#第一部分", "a.md#第一部分"),
    ],
)
def test_a_link_leads_to_the_page(root: Path, language: Language, name: str, link: str, expected: str) -> None:
    assert target(collected(root, language), name, link) == expected


def test_a_page_that_the_navigation_lacks_is_named(root: Path) -> None:
    with pytest.raises(NotNamed, match=r"a\.md, b\.md"):
        navigation(collected(root, ENGLISH))


def test_every_name_in_the_navigation_is_a_page() -> None:
    there = collected(ROOT, ENGLISH).sources.keys() | collected(ROOT, CHINESE).sources.keys()
    assert [name for name in named() if name not in there] == []


@pytest.mark.parametrize("language", [ENGLISH, CHINESE], ids=lambda language: language.folder)
def test_every_page_of_the_repository_is_in_the_navigation(language: Language) -> None:
    assert navigation(collected(ROOT, language))[0] == "index.md"
