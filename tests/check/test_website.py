"""How packaging/website makes MkDocs' pages of documents that are written for GitHub; the build itself is strict."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.check.source import ROOT

sys.path.append(str(ROOT / "packaging"))  # its modules are no part of the package

from description import described
from website.chinese import joined
from website.languages import CHINESE, ENGLISH, Language
from website.links import ACROSS, target
from website.lists import deepened
from website.pages import collected

FILES = {
    "README.md": "# R\n[a](docs/a.md)\n[s](LICENSE)\n",
    "README.zh-CN.md": "# 读\n",
    "LICENSE": "Do `what` you want\n",
    "docs/a.md": "# A\n\n## Part one\n\n[map](../MAP.md) [deep](design/d.md)\n",
    "docs/b.md": "# B\n\n## First\n",
    "docs/design/d.md": "# D\n[a](../a.md#part-one)\n",
    "docs/zh/a.md": "# 甲\n\n## 第一部分\n\n[English](../a.md) [b](../b.md)\n",
    "MAP.md": "# M\n[more](tools/t.yml)\n",
    "tools/t.yml": "a: 1\n",
}


@pytest.mark.parametrize(
    ("language", "name", "link", "expected"),
    [
        (ENGLISH, "index.md", "docs/a.md", "a.md"),
        (ENGLISH, "index.md", "LICENSE", "LICENSE.md"),
        (ENGLISH, "design/d.md", "../a.md#part-one", "../a.md#part-one"),
        (ENGLISH, "MAP.md", "tools/t.yml", "tools/t.yml.md"),
        (ENGLISH, "a.md", "gone.md", "gone.md"),
        (ENGLISH, "index.md", "README.zh-CN.md", f"{ACROSS}index.html"),
        (CHINESE, "a.md", "../a.md", f"{ACROSS}a.html"),
        (CHINESE, "a.md", "../b.md", "b.md"),
        (CHINESE, "b.md", "a.md#part-one", f"{ACROSS}a.html#part-one"),
        (CHINESE, "b.md", "zh/a.md#第一部分", "a.md#第一部分"),
    ],
)
def test_a_link_leads_to_the_page(tmp_path: Path, language: Language, name: str, link: str, expected: str) -> None:
    for file, text in FILES.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, "utf-8")
    assert target(collected(tmp_path, language), name, link) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("- a\n  b\n", "-   a\n    b\n"),
        ("- a\n  - b\n    c\n", "-   a\n    -   b\n        c\n"),
        ("- a\n\n  ```\n  x\n    y\n  ```\n", "-   a\n\n    ```\n    x\n      y\n    ```\n"),
        ("1. a\n\n   b\n2. c\n", "1.  a\n\n    b\n\n2.  c\n"),
        ("```\n- code\n  more\n```\n", "```\n- code\n  more\n```\n"),
    ],
)
def test_items_of_lists_are_four_columns_deep(written: str, expected: str) -> None:
    assert deepened(written) == expected


def test_no_space_beside_full_width_punctuation_and_between_chinese_characters() -> None:
    assert joined("路由，\n主题\n（一）") == "路由，主题（一）"
    assert joined("路由\nBroker\n<code>a</code>") == "路由\nBroker\n<code>a</code>"


def test_a_package_index_gets_no_link_that_it_cannot_follow() -> None:
    assert (
        described("[docs/a.md](docs/a.md) [a](https://example.com/a.md)") == "`docs/a.md` [a](https://example.com/a.md)"
    )
