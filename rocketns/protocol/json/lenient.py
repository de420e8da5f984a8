"""The JSON that fastjson2 2.0.59 takes and orjson refuses. No known peer sends it; `fastjson` says what it is.

Every character is matched by one pattern that never goes back, so the time is proportional to the text: some 10 ms for
the longest that bounds.LENIENT_BYTES_MAX allows.
"""

from __future__ import annotations

import re
from typing import Any

NESTING_MAX = 128
_TOKEN = re.compile(
    r"(?: [ \b\t\n\f\r] | /\*.*?\*/ | //[^\n]* )*+"
    r"""(?: (?P<text> "[^"\\]*+(?:\\.[^"\\]*+)*+" | '[^'\\]*+(?:\\.[^'\\]*+)*+' )"""
    r"| (?P<number> [+-]? (?:[0-9]+\.?[0-9]*|\.[0-9]+) (?:[eE][+-]?[0-9]+)? ) [LBSFD]?"
    r"| (?P<word> true | false | null ) | (?P<mark> [][{}:,] ) | (?P<end> \Z ) )",
    re.DOTALL | re.VERBOSE,
)
_WORDS = {"null": None, "true": True, "false": False}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPED = dict(zip("btnfFrv", "\b\t\n\f\f\r\v", strict=True)) | {str(code): chr(code) for code in range(8)}
_ESCAPED |= {char: char for char in "\"'\\/ #&(),.@[]_~"}


class NumberText(str):
    """A number as it was written, so that text made of it shows ``1.50`` and not ``1.5``."""

    __slots__ = ()


def parse_leniently(text: str, *, numeric_keys: bool = True) -> Any:
    """The value of a whole text, with numbers as NumberText. ValueError names the offset at which reading stopped."""
    reader = _Reader(text, numeric_keys)
    value = reader.value(0)
    if reader.kind != "end":
        raise reader.error("text after the value")
    return value


class _Reader:
    """``token`` is the next one: of a string with its quotes, of a number without the letter behind it."""

    def __init__(self, text: str, numeric_keys: bool) -> None:
        self._text, self._at = text, 0
        self._key_kinds = ("text", "number") if numeric_keys else ("text",)
        self._advance()

    def error(self, what: str) -> ValueError:
        return ValueError(f"{what} at offset {self._at}")

    def value(self, depth: int) -> Any:
        kind, token = self.kind, self.token
        if token == "{" or token == "[":
            if depth == NESTING_MAX:
                raise self.error(f"more than {NESTING_MAX} levels")
            self._advance()
            return self._members(depth + 1) if token == "{" else self._items(depth + 1)
        if kind == "mark" or kind == "end":
            raise self.error("value expected")
        self._advance()
        if kind == "text":
            return self._unescaped(token[1:-1])
        return NumberText(token) if kind == "number" else _WORDS[token]

    def _advance(self) -> None:
        match = _TOKEN.match(self._text, self._at)
        if match is None or match.lastgroup is None:
            raise self.error("no token of JSON")
        self.kind, self.token, self._at = match.lastgroup, match[match.lastgroup], match.end()

    def _take(self, mark: str) -> bool:
        if self.token != mark:
            return False
        self._advance()
        return True

    def _members(self, depth: int) -> dict[str, Any]:
        members = {}
        while not self._take("}"):
            if self.kind not in self._key_kinds:
                raise self.error("key expected")
            key = str(self.value(depth))
            if not self._take(":"):
                raise self.error("':' expected")
            members[key] = self.value(depth)
            self._take(",")
        return members

    def _items(self, depth: int) -> list[Any]:
        items = []
        while not self._take("]"):
            items.append(self.value(depth))
            if not self._take(",") and self.token != "]":
                raise self.error("',' or ']' expected")
        return items

    def _unescaped(self, text: str) -> str:
        """Two halves of a character that two escapes make are one character."""

        def char(escape: re.Match[str]) -> str:
            digits = escape[1] or escape[2]
            found = chr(int(digits, 16)) if digits else _ESCAPED.get(escape[3])
            if found is None:
                raise self.error("unknown escape")
            return found

        if "\\" not in text:
            return text
        return _ESCAPE.sub(char, text).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
