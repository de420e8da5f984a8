"""Which class of token each path of the management port needs. This is the only table of it.

A path without a row fails at import: see `rocketns/admin/features.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum


class TokenClass(StrEnum):
    """What a token is good for."""

    PROBE = "probe"
    SCRAPE = "scrape"
    READ = "read"
    DRAIN = "drain"


# The page itself holds no data. It asks for a token, and sends it with what it asks for.
OPEN = None

# A row that ends with * has all paths of its folder, without folders in it.
PATHS: Mapping[str, TokenClass | None] = {
    "/livez": TokenClass.PROBE,
    "/readyz": TokenClass.PROBE,
    "/metrics": TokenClass.SCRAPE,
    "/api/v1/*": TokenClass.READ,
    "/drainz": TokenClass.DRAIN,
    "/": OPEN,
    "/page/*": OPEN,
}
# No percent sign: nothing is decoded, so a path has one spelling.
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


class UnclassedPath(Exception):
    """The path has no row in `PATHS`."""


def class_of(path: str) -> TokenClass | None:
    """The class of token that a path needs, `OPEN` if none. UnclassedPath if there is no such path."""
    if path in PATHS and not path.endswith("*"):
        return PATHS[path]
    folder, _, name = path.rpartition("/")
    row = f"{folder}/*"
    if row not in PATHS or not NAME.fullmatch(name):
        raise UnclassedPath(f"{path} has no class in rocketns/admin/tokens/classes.py")
    return PATHS[row]


def check(paths: Iterable[str]) -> None:
    """UnclassedPath for the first path without a class."""
    for path in paths:
        class_of(path)
