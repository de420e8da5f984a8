"""The Chinese pages say what the English ones say, as far as it can be compared; each difference is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.documents.chinese.compare import differences
from tests.check.documents.chinese.targets import relinked
from tests.check.source import ROOT, plant

ENGLISH = """\
# Start

Run `make run` within 30 s, see [limits](limits.md#time) and [costs](costs.md).

    make run  # compiles first

## Rows

| a | b |
|---|---|
| 1 | `x` |

- one

```text
said
```
"""
CHINESE = """\
# 启动

[English](../start.md) | [目录](index.md)

在 30 s 之内执行 `make run`，见[上限](limits.md#时间)和[开销](../costs.md)。

    make run  # 先编译

## 行

| 甲 | 乙 |
|---|---|
| 1 | `x` |

- 一

```text
说明
```
"""


def test_both_languages_say_the_same() -> None:
    found = list(differences(ROOT))
    assert not found, "\n".join(found)


def test_a_faithful_page_passes(root: Path) -> None:
    assert list(differences(root)) == []


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("30 s", "31 s", "启动 (Start): figure missing: 30"),
        ("30 s", "31 s", "启动 (Start): figure not in English: 31"),
        ("`make run`", "`make`", "启动 (Start): inline code missing: make run"),
        ("    make run ", "    make walk ", "启动 (Start): command missing: make run"),
        ("(../costs.md)", "(../rows.md)", "启动 (Start): link missing: ../costs.md"),
        ("(limits.md#时间)", "(../limits.md#time)", "启动 (Start): link missing: limits.md#时间"),
        ("| 1 | `x` |\n", "", "行 (Rows): tables have 2 rows of [2] cells, in English 3 rows of [2] cells"),
        ("- 一", "- 一\n- 二", "行 (Rows): 2 items of lists, in English 1"),
        ("```text\n说明\n```\n", "", "行 (Rows): command missing: (what a program prints)"),
        ("## 行", "### 行", "### 行: expected ## for Rows"),
        ("## 行\n", "", "no heading for Rows"),
        ("说明\n```\n", "说明\n```\n\n## 多\n", "多: no such heading in English"),
    ],
)
def test_a_planted_difference_is_named(root: Path, before: str, after: str, reason: str) -> None:
    assert before in CHINESE
    plant(root, "docs/zh/start.md", CHINESE.replace(before, after))
    found = list(differences(root))
    assert any(one.startswith("docs/zh/start.md:") and one.endswith(reason) for one in found), found


@pytest.mark.parametrize(
    ("before", "after"), [("30 s", "60 s"), ("`x`", "`y`"), ("make run  #", "make all  #"), ("- one", "- one\n- two")]
)
def test_a_change_of_the_english_page_alone_is_named(root: Path, before: str, after: str) -> None:
    plant(root, "docs/start.md", ENGLISH.replace(before, after))
    assert list(differences(root))


def test_links_are_led_to_chinese_pages_that_came_since(root: Path) -> None:
    plant(root, "docs/zh/costs.md", "# 开销\n")
    [found] = [one for one in differences(root) if "link missing" in one]
    assert found.endswith("link missing: costs.md")
    plant(root, "docs/zh/start.md", relinked(root, root / "docs/start.md", root / "docs/zh/start.md"))
    assert list(differences(root)) == []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plant(tmp_path, "docs/start.md", ENGLISH)
    plant(tmp_path, "docs/limits.md", "# Limits\n\n## Time\n")
    plant(tmp_path, "docs/costs.md", "# Costs\n")
    plant(tmp_path, "docs/zh/start.md", CHINESE)
    plant(tmp_path, "docs/zh/limits.md", "# 上限\n\n## 时间\n")
    return tmp_path
