"""Lists of CommonMark, as Python-Markdown reads them."""

from __future__ import annotations

import pytest
from website.lists import deepened


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("- a\n  b\n", "-   a\n    b\n"),
        ("1. a\n\n   b\n", "1.  a\n\n    b\n"),
        ("1. a\n\n       code\n", "1.  a\n\n        code\n"),
        ("- a\n  - b\n    c\n", "-   a\n    -   b\n        c\n"),
        ("- a\nlazy\n", "-   a\n    lazy\n"),
        ("- a\n\n  ```\n  x\n    y\n  ```\n", "-   a\n\n    ```\n    x\n      y\n    ```\n"),
        ("text\n- a\n", "text\n\n-   a\n"),
        ("1. a\n\n   b\n2. c\n", "1.  a\n\n    b\n\n2.  c\n"),
        ("- a\n  - b\n\n    c\n  - d\n- e\n", "-   a\n    -   b\n\n        c\n\n    -   d\n\n-   e\n"),
        ("10. a\n    b\n", "10. a\n    b\n"),
    ],
)
def test_items_are_four_columns_deep(written: str, expected: str) -> None:
    assert deepened(written) == expected


@pytest.mark.parametrize("text", ["a - b\n", "    - code\n", "```\n- code\n  more\n```\n", "| a |\n|---|\n| - b |\n"])
def test_what_is_no_list_stays(text: str) -> None:
    assert deepened(text) == text
