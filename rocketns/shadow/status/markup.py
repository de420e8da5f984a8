"""HTML in which every text is escaped, unless it is markup made here."""

from __future__ import annotations

from html import escape


class Markup(str):
    """Made by `tag`, so it is not escaped again."""

    __slots__ = ()


def tag(name: str, *inner: str, **attributes: str) -> Markup:
    """An element. ``class_`` is the attribute class; an underscore inside a name is a hyphen."""
    given = "".join(f' {key.strip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{given}>{joined(*inner)}</{name}>")


def joined(*inner: str) -> Markup:
    """Several parts, of which texts are escaped."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in inner))
