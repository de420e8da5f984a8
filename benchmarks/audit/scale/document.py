"""The tables in docs/audit-at-scale.md, between two marks."""

from __future__ import annotations

from pathlib import Path

from benchmarks.audit.scale.growth import Row
from benchmarks.audit.scale.page import NOTE, about, sections

PAGE = Path(__file__).parents[3] / "docs" / "audit-at-scale.md"
BEGIN, END = "<!-- audit.scale: begin -->", "<!-- audit.scale: end -->"
# So many rows of each table; audit-scale.md has the others.
ROWS = 6
WHOLE = ("The runs", "How figures grow")


def with_tables(text: str, result: Row) -> str:
    """The document with the tables of this result. ValueError if the marks are missing."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{PAGE.name} has no {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n{tables(result)}\n\n{END}{after}"


def tables(result: Row) -> str:
    """Each section as a paragraph in bold type and a table."""
    found = [
        f"**{title}**\n\n" + "\n".join(lines if title in WHOLE else lines[: ROWS + 2])
        for title, lines in sections(result).items()
    ]
    return "\n\n".join([about(result), NOTE, *found])
