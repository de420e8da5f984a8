"""`rocketns access suggest`: the policy that would have allowed what journals say was refused.

Names that peers chose stay within their quotes, and comments within their line: each part of the text is a table that
tomli_w writes.
"""

from __future__ import annotations

import glob
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rocketns.access.classes import RIGHTS, Access
from rocketns.access.policy_file import FILE_BYTES_MAX, NETWORKS_MAX, PRINCIPALS_MAX
from rocketns.access.policy_values import ITEMS_MAX, TO_BE_FILLED_IN
from rocketns.access.principal import Network
from rocketns.errors import RocketnsError, install_command
from rocketns.protocol.codes import RequestCode
from rocketns.tools.access.notices import joined, plain
from rocketns.tools.access.refusals import Journals, Left, Needs, Sender, SenderRequests, Sightings
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, complain, print_text

try:
    import tomli_w
except ModuleNotFoundError:
    raise RocketnsError(f"tomli_w is needed to write TOML: {install_command('tools')}") from None

US_PER_S = 1_000_000
# Names in a comment.
TAKEOVERS_SHOWN_MAX = 20
# For the keys and the comments of the head.
BYTES_MAX = FILE_BYTES_MAX - 512 * 1024
HEAD = """\
# Written by `rocketns access suggest`. It allows what {requests} requests asked for that were refused, or would have
# been, by {files} files of journals. Read it and cut it down: whoever asked is in it, also who should not ask.
#
# The journals do not have what the policy of their time allowed: add these principals to that policy. If it had none,
# this is the whole policy. Where the senders of a key change their addresses, remove the networks of its principals.
# A record counts the equal requests of a minute and has the fields of one of them, so names of others may be missing.
"""
ADMIN = "Admin requests were seen, too. If you know who sent them, remove the # before each line of a table"
KEYS = "Fill in the secrets of these keys: until then the file is refused. Leave out keys that the policy has already"


def suggest(options: Namespace) -> int:
    """Print the policy. The exit status. RocketnsError if a journal cannot be read."""
    journals, sightings = Journals(options.journal), Sightings()
    for record in journals.refusals():
        sightings.add(record)
    if not sightings.requests:
        complain(f"rocketns access suggest: {journals.files} files of journals have no refused request")
        return EXIT_DIFFERENT
    print_text(policy_text(sightings, journals))
    return EXIT_FOUND


def policy_text(sightings: Sightings, journals: Journals) -> str:
    """The whole policy."""
    fitting, left = _fitting(grouped(sightings.of))
    left += sightings.left_out
    ordered = sorted(fitting, key=lambda one: (one.is_admin, one.key is None, one.key or "", one.name))
    modes = written({"modes": {access.value: "observe" for access in RIGHTS} | {"takeover": "observe"}})
    head = HEAD.format(files=journals.files, requests=sightings.requests)
    head += "".join(comment(f"Left out: {number} requests: {why.value}") for why, number in left.most_common())
    if journals.unreadable:
        head += comment(f"Left out: {journals.unreadable} lines that cannot be read")
    admin = [principal(one) for one in ordered if one.is_admin]
    keys = [one.key for one in ordered if one.key is not None and not one.is_admin]
    of_admin = {one.key for one in ordered if one.key is not None} - {*keys}
    return "\n".join([
        head,
        *(principal(one) for one in ordered if not one.is_admin),
        *([comment(ADMIN), *admin] if admin else []),
        *([comment(KEYS)] if keys or of_admin else []),
        *(key(name) for name in sorted({*keys})),
        *(commented_out(key(name)) for name in sorted(of_admin)),
        modes,
    ])  # fmt: skip


def _fitting(found: Iterable[Suggested]) -> tuple[list[Suggested], Counter[Left]]:
    """Those for which a policy has room, and how many requests of others are left out."""
    fitting: list[Suggested] = []
    left: Counter[Left] = Counter()
    networks = size = 0
    for one in found:
        has_room = len(fitting) < PRINCIPALS_MAX and networks + len(one.networks) <= NETWORKS_MAX
        more = len(principal(one).encode()) if has_room else 0
        if not has_room or size + more > BYTES_MAX:
            left[Left.SIZE] += one.requests
            continue
        fitting.append(one)
        networks, size = networks + len(one.networks), size + more
    return fitting, left


@dataclass(frozen=True, slots=True)
class Suggested:
    """A principal. ``part``: of the networks of those that need the same. ``seen``: what each of them asked for."""

    key: str | None
    is_admin: bool
    networks: tuple[Network, ...]
    part: int
    needs: Needs
    seen: Sequence[SenderRequests]

    @property
    def requests(self) -> int:
        return sum(one.requests for one in self.seen)

    @property
    def name(self) -> str:
        """It says who that is; no two have the same one."""
        who = "hosts" if self.key is None else f"key {self.key}"
        more = f" and {len(self.networks) - 1} more" if len(self.networks) > 1 else ""
        part = f" ({self.part})" if self.part > 1 else ""
        return f"{who} {plain(self.networks[0])}{more}{part}" + (" admin" if self.is_admin else "")


def grouped(seen: Mapping[Sender, SenderRequests]) -> list[Suggested]:
    """The principals; those that asked most come first."""
    alike: defaultdict[tuple[str | None, bool, Needs], list[Sender]] = defaultdict(list)
    for sender, one in seen.items():
        if one.requests:
            alike[sender.key, sender.is_admin, one.needs()].append(sender)
    found = [
        Suggested(key, is_admin, tuple(joined(sender.network for sender in part)), number, needs,
                  [seen[sender] for sender in part])
        for (key, is_admin, needs), senders in alike.items() for number, part in enumerate(_parts(senders), 1)
    ]  # fmt: skip
    return sorted(found, key=lambda one: (-one.requests, one.name))


def _parts(senders: Sequence[Sender]) -> list[Sequence[Sender]]:
    """A list of a policy has ITEMS_MAX networks at most."""
    if len(joined(sender.network for sender in senders)) <= ITEMS_MAX:
        return [senders]
    ordered = sorted(senders, key=lambda one: (one.network.version, one.network.network_address.packed))
    return [ordered[at : at + ITEMS_MAX] for at in range(0, len(ordered), ITEMS_MAX)]


def written(table: Mapping[str, Any]) -> str:
    """A table as TOML. All that cannot be printed is escaped, so that it neither controls a terminal nor hides text."""
    return "\n".join(map(_visible, tomli_w.dumps(table).split("\n")))


def _visible(line: str) -> str:
    """Only texts in quotes have such characters, and there ``\\u`` stands for them."""
    return "".join(
        one if one.isprintable() else f"\\u{ord(one):04x}" if ord(one) < 0x10000 else f"\\U{ord(one):08x}"
        for one in line
    )


def comment(text: str) -> str:
    """A line of its own; what would end it is escaped."""
    return f"# {_visible(text)}\n"


def commented_out(text: str) -> str:
    """Each line as a comment."""
    return "".join(f"# {line}".rstrip() + "\n" for line in text.rstrip("\n").split("\n"))


def principal(one: Suggested) -> str:
    """The table of a principal, with comments above it; as comments if it is about admin requests."""
    text = "".join(map(comment, _remarks(one))) + written({"principals": {one.name: _items(one)}})
    return commented_out(text) if one.is_admin else text


def _items(one: Suggested) -> dict[str, Any]:
    """Restrictions are written where they mean something, also empty ones: nothing was seen, so nothing is allowed."""
    items: dict[str, Any] = {"networks": [plain(network) for network in one.networks]}
    if one.key is not None:
        items["keys"] = [one.key]
    items["may"] = [access.value for access in RIGHTS if access in one.needs.classes]
    if Access.BROKER in one.needs.classes:
        items["broker_names"] = _exact(one.needs.of("broker"))
        if not one.needs.names_a_host:
            ordered = sorted(one.needs.of("address"), key=lambda address: (address.version, int(address)))
            items["addresses"] = [*map(str, ordered)]
    if not one.needs.classes.isdisjoint({Access.READ, Access.BROKER, Access.ADMIN}):
        items["kv_namespaces"] = _exact(one.needs.of("namespace"))
    return items


def _exact(names: Iterable[str]) -> list[str]:
    """Globs that match these names only."""
    return [glob.escape(name) for name in sorted(names)]


def _remarks(one: Suggested) -> list[str]:
    codes = sum((each.codes for each in one.seen), Counter[int]())
    reasons = sum((each.reasons for each in one.seen), Counter[str]())
    named = ", ".join(f"{code} {RequestCode(code).name} ({number})" for code, number in sorted(codes.items()))
    why = ", ".join(f"{reason} ({number})" for reason, number in sorted(reasons.items()))
    first, last = min(each.first for each in one.seen), max(each.last for each in one.seen)
    told = [
        f"Requests: {one.requests}, senders: {len(one.seen)}, {instant(first)} to {instant(last)}; {why}",
        f"Codes: {named}",
    ]
    public = sum(network.is_global for network in one.networks)
    if public:
        told.append(f"Public addresses: {public} of the networks")
    if one.needs.names_a_host:
        told.append("A broker announced a host name, which addresses cannot have. So any address may be announced")
    if RequestCode.REGISTER_TOPIC_IN_NAMESRV in codes:
        told.append("Code 217 names its brokers in its body, which no journal has. Add missing ones to broker_names")
    if takeovers := sorted(set().union(*(each.takeovers for each in one.seen))):
        names = ", ".join(takeovers[:TAKEOVERS_SHOWN_MAX])
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
