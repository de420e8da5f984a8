"""One table of the policy file: its keys, each read once, each checked."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from rocketns.access.principal import Globs, Network
from rocketns.access.reading.errors import PolicyError
from rocketns.access.reading.lines import line_of

ITEMS_MAX = 1_000  # of a list
TEXT_CHARACTERS_MAX = 1_000
IPV4_MAPPED_BITS = 96

Read = TypeVar("Read")


class Table:
    """``table`` is its dotted name in the file, "" for the top."""

    def __init__(self, file: str, text: str, table: str, items: Mapping[str, Any]) -> None:
        self._file, self._text, self._table, self._items = file, text, table, dict(items)

    def refuse(self, key: str | None, why: str) -> NoReturn:
        """PolicyError with the line of the key."""
        place = ".".join(part for part in (self._table, key) if part)
        raise PolicyError(self._file, line_of(self._text, self._table, key), f"{place}: {why}" if place else why)

    def end(self, why: str = "there is no such key") -> None:
        """PolicyError for a key that nothing read."""
        for key in self._items:
            self.refuse(key, why)

    def table(self, key: str) -> Table:
        """A table in it; empty where it is missing."""
        items = self._items.pop(key, {})
        if not isinstance(items, dict):
            self.refuse(key, "must be a table")
        return Table(self._file, self._text, f"{self._table}.{key}" if self._table else key, items)

    def tables(self, key: str) -> dict[str, Table]:
        """The tables of a table, by their names."""
        inner = self.table(key)
        return {name: inner.table(name) for name in list(inner._items)}

    def has(self, key: str) -> bool:
        return key in self._items

    def text(self, key: str) -> str | None:
        value = self._items.pop(key, None)
        if value is None:
            return None
        if not self._is_text(value):
            self.refuse(key, f"must be a text of at most {TEXT_CHARACTERS_MAX} characters")
        return str(value)

    def is_true(self, key: str) -> bool:
        value = self._items.pop(key, False)
        if not isinstance(value, bool):
            self.refuse(key, "must be true or false")
        return value

    def number(self, key: str, low: int = 0) -> int | None:
        value = self._items.pop(key, None)
        if value is None:
            return None
        if type(value) is not int or value < low:
            self.refuse(key, f"must be a number, {low} or more")
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts. None where it is missing."""
        value = self._items.pop(key, None)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) > ITEMS_MAX or not all(map(self._is_text, value)):
            self.refuse(key, f"must be a list of at most {ITEMS_MAX} texts")
        return tuple(value)

    def globs(self, key: str) -> Globs | None:
        texts = self.texts(key)
        return None if texts is None else Globs(texts)

    def networks(self, key: str) -> tuple[Network, ...] | None:
        """A list of networks, or of addresses."""
        texts = self.texts(key)
        return None if texts is None else tuple(self._network(key, text) for text in texts)

    def _network(self, key: str, text: str) -> Network:
        try:
            return _as_ipv4(ipaddress.ip_network(text))
        except ValueError as error:
            self.refuse(key, str(error))

    def word(self, key: str, words: Mapping[str, Read]) -> Read:
        """One of the words, which must be there."""
        value = self.text(key)
        if value is None:
            self.refuse(key, f"it is missing, or the file is not yet written: one of {', '.join(words)}")
        if value not in words:
            self.refuse(key, f"{value!r} must be one of {', '.join(words)}")
        return words[value]

    @staticmethod
    def _is_text(value: Any) -> bool:
        return isinstance(value, str) and 0 < len(value) <= TEXT_CHARACTERS_MAX


ReadFile = Callable[[str], str]


def _as_ipv4(network: Network) -> Network:
    """A part of ::ffff:0:0/96 is a network of IPv4: so the addresses of peers are written here."""
    mapped = network.network_address.ipv4_mapped if network.version == 6 else None
    if mapped is None or network.prefixlen < IPV4_MAPPED_BITS:
        return network
    return ipaddress.IPv4Network((mapped, network.prefixlen - IPV4_MAPPED_BITS))
