"""A parser for the JSON that fastjson2 2.0.59 takes and orjson refuses.

Beyond the standard it takes: comments, single quotes, raw control characters, escapes such as `\\x41`, `\\v` and `\\'`,
lone surrogates, a comma too few between members or one too many after the last, numbers such as `05`, `+5`, `.5`,
`5.` and `5L`, and unquoted numbers as keys. What fastjson2 refuses (unquoted words, text after the value) is refused
here too. Unlike fastjson2, which refuses some of it in some places (a comment before a comma), it takes it anywhere.
It is plain Python and slow: it is only reached by text that orjson refused, and only up to LENIENT_BYTES_MAX.
"""

from __future__ import annotations

import re
from typing import Any

LENIENT_BYTES_MAX = 256 * 1024
NESTING_MAX = 128

_BLANK = re.compile(r"(?:[ \t\r\n\f\b]+|/\*.*?\*/|//[^\n]*(?:\n|$))*", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NUMBER_SUFFIX = re.compile(r"[LBSFD]")
_PLAIN = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "F": "\f", "r": "\r", "v": "\v"}
_ESCAPES |= {str(code): chr(code) for code in range(8)}
_ESCAPES |= {c: c for c in "\"'\\/ #&(),.@[]_~"}
_HEX = {"u": re.compile(r"[0-9a-fA-F]{4}"), "x": re.compile(r"[0-9a-fA-F]{2}")}
_SURROGATES = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
_WORDS = {"true": True, "false": False, "null": None}


class NumberText(str):
    """A number as it was written, so that text made of it shows ``1.50`` and not ``1.5``."""

    __slots__ = ()


def loads(text: str, *, numeric_keys: bool = True) -> Any:
    """The value of a whole text; numbers come back as NumberText. ValueError says where it stopped."""
    parser = _Parser(text, numeric_keys)
    value = parser.value(0)
    parser.skip_blank()
    if parser.at != len(text):
        raise parser.error("text after the value")
    return value


def _joined(pair: re.Match[str]) -> str:
    """One character from the two halves that two escapes made."""
    return pair[0].encode("utf-16-be", "surrogatepass").decode("utf-16-be")


class _Parser:
    def __init__(self, text: str, numeric_keys: bool) -> None:
        self.text = text
        self.numeric_keys = numeric_keys
        self.at = 0

    def error(self, what: str) -> ValueError:
        return ValueError(f"{what} at offset {self.at}")

    def skip_blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        if match:
            self.at = match.end()

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Any:
        self.skip_blank()
        first = self.peek()
        if first in ("{", "[") and depth == NESTING_MAX:
            raise self.error(f"more than {NESTING_MAX} levels")
        if first == "{":
            return self.object(depth)
        if first == "[":
            return self.array(depth)
        if first in ('"', "'"):
            return self.string()
        return self.word_or_number()

    def object(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self.at += 1
        while True:
            self.skip_blank()
            if self.peek() == "}":
                self.at += 1
                return members
            key = self.key()
            self.skip_blank()
            if self.peek() != ":":
                raise self.error("':' expected")
            self.at += 1
            members[key] = self.value(depth + 1)
            self.skip_comma()

    def key(self) -> str:
        if self.peek() in ('"', "'"):
            return self.string()
        key = self.word_or_number()
        if self.numeric_keys and isinstance(key, NumberText):
            return str(key)
        raise self.error("unquoted key")

    def array(self, depth: int) -> list[Any]:
        items: list[Any] = []
        self.at += 1
        self.skip_blank()
        while self.peek() != "]":
            items.append(self.value(depth + 1))
            self.skip_blank()
            if self.peek() == ",":
                self.at += 1
            elif self.peek() != "]":
                raise self.error("',' or ']' expected")
            self.skip_blank()
        self.at += 1
        return items

    def skip_comma(self) -> None:
        self.skip_blank()
        if self.peek() == ",":
            self.at += 1

    def word_or_number(self) -> Any:
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            if suffix := _NUMBER_SUFFIX.match(self.text, self.at):
                self.at = suffix.end()
            return NumberText(number[0])
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        raise self.error("no value")

    def string(self) -> str:
        quote = self.peek()
        self.at += 1
        parts: list[str] = []
        while True:
            plain = _PLAIN[quote].match(self.text, self.at)
            assert plain is not None  # the pattern matches the empty text
            parts.append(plain[0])
            self.at = plain.end()
            end = self.peek()
            self.at += 1
            if end == quote:
                return _SURROGATES.sub(_joined, "".join(parts))
            if not end:
                raise self.error("the string does not end")
            parts.append(self.escape())

    def escape(self) -> str:
        kind = self.peek()
        self.at += 1
        if kind in _HEX:
            digits = _HEX[kind].match(self.text, self.at)
            if digits is None:
                raise self.error("hexadecimal digits expected")
            self.at = digits.end()
            return chr(int(digits[0], 16))
        if kind not in _ESCAPES:
            raise self.error("unknown escape")
        return _ESCAPES[kind]
