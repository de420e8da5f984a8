"""What the files of a policy are made of: tables whose keys are each read once and checked; access keys with secrets.

What is wrong is a `PolicyError` with its file and line, which shows no secret.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from rocketns.access.classes import Mode
from rocketns.access.principal import Globs, Network
from rocketns.access.signature import Secret
from rocketns.errors import RocketnsError

TABLE = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?")
KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)\s*=""")
ITEMS_MAX = 1_000  # of a list
TEXT_CHARACTERS_MAX = 1_000
IPV4_MAPPED_BITS = 96
# In a policy that `rocketns access suggest` wrote.
TO_BE_FILLED_IN = "<fill in>"
SECRET_CHARACTERS_MIN = 8  # RocketMQ's tools ask for more than 6


class PolicyError(RocketnsError):
    """The file is refused whole. ``line`` counts from 1; 0 where no line is to blame."""

    def __init__(self, file: str, line: int, why: str) -> None:
        super().__init__(f"{file}, line {line}: {why}" if line else f"{file}: {why}")


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


Read = TypeVar("Read")


class PolicyTable:
    """``table`` is its dotted name in the file, "" for the top."""

    def __init__(self, file: str, text: str, table: str, items: Mapping[str, Any]) -> None:
        self._file, self._text, self._table, self._items = file, text, table, dict(items)

    def refuse(self, key: str | None, why: str) -> NoReturn:
        """PolicyError with the line of the key."""
        path = ".".join(part for part in (self._table, key) if part)
        raise PolicyError(self._file, line_of(self._text, self._table, key), f"{path}: {why}" if path else why)

    def end(self, why: str = "there is no such key") -> None:
        """PolicyError for a key that nothing read."""
        for key in self._items:
            self.refuse(key, why)

    def table(self, key: str) -> PolicyTable:
        """A table in it; empty where it is missing."""
        items = self._items.pop(key, {})
        if not isinstance(items, dict):
            self.refuse(key, "must be a table")
        return PolicyTable(self._file, self._text, f"{self._table}.{key}" if self._table else key, items)

    def tables(self, key: str) -> dict[str, PolicyTable]:
        """The tables of a table, by their names."""
        inner = self.table(key)
        return {name: inner.table(name) for name in inner.names()}

    def names(self) -> list[str]:
        """The keys that nothing has read yet."""
        return list(self._items)

    def _pop(
        self, key: str, kind: type[Read], what: str, is_right: Callable[[Read], bool] = lambda _: True
    ) -> Read | None:
        """The value of a key. None where it is missing."""
        value: Read | None = self._items.pop(key, None)
        if value is not None and (type(value) is not kind or not is_right(value)):
            self.refuse(key, f"must be {what}")
        return value

    def text(self, key: str) -> str | None:
        return self._pop(key, str, f"a text of at most {TEXT_CHARACTERS_MAX} characters", _is_text)

    def is_true(self, key: str) -> bool:
        return self._pop(key, bool, "true or false") or False

    def number(self, key: str, low: int = 0) -> int | None:
        return self._pop(key, int, f"a number, {low} or more", lambda value: value >= low)

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts. None where it is missing."""
        found = self._pop(key, list, f"a list of at most {ITEMS_MAX} texts",
                           lambda value: len(value) <= ITEMS_MAX and all(map(_is_text, value)))  # fmt: skip
        return None if found is None else tuple(found)

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

    def mode(self, key: str) -> Mode:
        """One of the modes, which must be there."""
        value = self.text(key)
        if value is None:
            self.refuse(key, f"it is missing, or the file is not yet written: one of {', '.join(Mode)}")
        if value not in [*Mode]:
            self.refuse(key, f"{value!r} must be one of {', '.join(Mode)}")
        return Mode(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= TEXT_CHARACTERS_MAX


ReadFile = Callable[[str], str]


def _as_ipv4(network: Network) -> Network:
    """A part of ::ffff:0:0/96 is a network of IPv4: so the addresses of peers are written here."""
    mapped = network.network_address.ipv4_mapped if network.version == 6 else None
    if mapped is None or network.prefixlen < IPV4_MAPPED_BITS:
        return network
    return ipaddress.IPv4Network((mapped, network.prefixlen - IPV4_MAPPED_BITS))


def read_secrets(file: str, text: str) -> dict[str, Secret]:
    """The secrets by access key. PolicyError, which does not show the secret."""
    secrets: dict[str, Secret] = {}
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue

        def refuse(why: str, number: int = number) -> None:
            raise PolicyError(file, number, why)

        if len(words) != 2:
            refuse("must be an access key and its secret, separated by spaces")
        add_secret(secrets, words[0], words[1], refuse)
    return secrets


def add_secret(secrets: dict[str, Secret], key: str, secret: str, refuse: Callable[[str], object]) -> None:
    """Add one. ``refuse`` is called with what is wrong with it, and raises."""
    if key in secrets:
        refuse(f"the access key {key!r} is there twice")
    if secret == TO_BE_FILLED_IN:
        refuse(f"the secret of {key!r} is still to be filled in")
    if len(secret) < SECRET_CHARACTERS_MIN:
        refuse(f"the secret of {key!r} has less than {SECRET_CHARACTERS_MIN} characters")
    secrets[key] = Secret(secret)
