"""A policy as TOML text. Names that peers chose stay within their quotes, and comments within their line.

Each part of the text is a table that tomli_w writes. Below it comments are lines of their own.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import tomli_w

from rocketns.access.classes import RIGHTS, Access
from rocketns.access.policy_values import TO_BE_FILLED_IN
from rocketns.protocol.codes import RequestCode
from rocketns.tools.access.networks import plain
from rocketns.tools.access.suggesting.groups import Suggested

US_PER_S = 1_000_000
# Names in a comment.
TAKEN_SHOWN_MAX = 20


def written(table: Mapping[str, Any]) -> str:
    """A table as TOML. All that cannot be printed is escaped, so that it neither controls a terminal nor hides text."""
    return "\n".join(map(_visible, tomli_w.dumps(table).split("\n")))


def _visible(line: str) -> str:
    """Only texts in quotes have such characters, and there ``\\u`` stands for them."""
    return line if line.isprintable() else "".join(one if one.isprintable() else _escaped(one) for one in line)


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def comment(text: str) -> str:
    """A line of its own; what would end it is escaped."""
    return f"# {_visible(text)}\n"


def commented_out(text: str) -> str:
    """Each line as a comment."""
    return "".join(f"# {line}".rstrip() + "\n" for line in text.rstrip("\n").split("\n"))


def principal(one: Suggested) -> str:
    """The table of a principal, with comments above it; as comments if it is about admin requests."""
    text = "".join(map(comment, _told(one))) + written({"principals": {one.name: _items(one)}})
    return commented_out(text) if one.is_admin else text


def _items(one: Suggested) -> dict[str, Any]:
    """Restrictions are written where they mean something, also empty ones: nothing was seen, so nothing is allowed."""
    items: dict[str, Any] = {"networks": [plain(network) for network in one.networks]}
    if one.key is not None:
        items["keys"] = [one.key]
    items["may"] = [access.value for access in RIGHTS if access in one.needs.classes]
    if Access.BROKER in one.needs.classes:
        items["broker_names"] = _exact(one.needs.brokers)
        if not one.needs.names_a_host:
            items["addresses"] = [str(address) for address in sorted(one.needs.addresses, key=_order)]
    if not one.needs.classes.isdisjoint({Access.READ, Access.BROKER, Access.ADMIN}):
        items["kv_namespaces"] = _exact(one.needs.namespaces)
    return items


def _order(address: Any) -> tuple[int, int]:
    return address.version, int(address)


def _exact(names: Iterable[str]) -> list[str]:
    """Globs that match these names only."""
    return [glob.escape(name) for name in sorted(names)]


def _told(one: Suggested) -> list[str]:
    codes = ", ".join(f"{f'{code} {RequestCode(code).name}'} ({number})" for code, number in sorted(one.codes.items()))
    reasons = ", ".join(f"{reason} ({number})" for reason, number in sorted(one.reasons.items()))
    told = [
        f"Requests: {one.requests}, senders: {one.senders}, {instant(one.first)} to {instant(one.last)}; {reasons}",
        f"Codes: {codes}",
    ]  # fmt: skip
    public = sum(network.is_global for network in one.networks)
    if public:
        told.append(f"Public addresses: {public} of the networks")
    if one.needs.names_a_host:
        told.append("A broker announced a host name, which addresses cannot have. So any address may be announced")
    if RequestCode.REGISTER_TOPIC_IN_NAMESRV in one.codes:
        told.append("Code 217 names its brokers in its body, which no journal has. Add missing ones to broker_names")
    if one.taken:
        names = ", ".join(sorted(one.taken)[:TAKEN_SHOWN_MAX])
        told.append(f"Took over live brokers' addresses in these groups. If it may, add them as owns: {names}")
    return told


def key(name: str) -> str:
    """The table of an access key, whose secret is to be filled in."""
    return written({"keys": {name: {"secret": TO_BE_FILLED_IN}}})


def instant(epoch_us: int) -> str:
    """The second, in UTC; a number that is no time stays one."""
    try:
        return datetime.fromtimestamp(epoch_us // US_PER_S, UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return f"{epoch_us} us"
