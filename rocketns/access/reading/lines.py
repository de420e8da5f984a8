"""In which line of a TOML text a key stands. tomllib names lines only where the text is no TOML."""

from __future__ import annotations

import re

TABLE = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?")
KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)\s*=""")


def line_of(text: str, table: str, key: str | None = None) -> int:
    """The line of a key of a table, or of the table's heading; 0 if it is written in another way."""
    within, heading = table == "", 0
    for number, line in enumerate(text.split("\n"), 1):
        if (found := TABLE.fullmatch(line)) is not None:
            within = _plain(found[1]) == table
            heading = number if within else heading
        elif within and key is not None and (found := KEY.match(line)) is not None and _plain(found[1]) == key:
            return number
    return heading


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))
