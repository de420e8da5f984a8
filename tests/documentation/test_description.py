"""README.md as a package index shows it."""

from __future__ import annotations

import re

import pytest
from description import described

from tests.check.source import ROOT


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[docs/a.md](docs/a.md)", "`docs/a.md`"),
        ("see [a part](docs/a.md#part)", "see a part (`docs/a.md`)"),
        ("![chart](results/a.svg)\n\ntext", "text"),
        ("[a](https://example.com/a.md)", "[a](https://example.com/a.md)"),
        ("![a](https://example.com/a.svg)\n", "![a](https://example.com/a.svg)\n"),
        ("    code\n", "    code\n"),
    ],
)
def test_relative_links_become_names_of_files(written: str, expected: str) -> None:
    assert described(written) == expected


def test_the_readme_keeps_no_link_that_an_index_cannot_follow() -> None:
    text = described((ROOT / "README.md").read_text("utf-8"))
    assert "in the source package" in text
    assert not re.findall(r"\]\((?!https?:|mailto:)[^)]*\)", text)
