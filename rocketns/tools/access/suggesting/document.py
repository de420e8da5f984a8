"""The whole policy as text: what it is from, the principals, admin requests as comments, and the keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from rocketns.access.classes import RIGHTS
from rocketns.access.policy_file import FILE_BYTES_MAX, NETWORKS_MAX, PRINCIPALS_MAX
from rocketns.tools.access.suggesting import writing
from rocketns.tools.access.suggesting.groups import Suggested, grouped
from rocketns.tools.access.suggesting.journals import Journals
from rocketns.tools.access.suggesting.seen import Left, Sightings

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


def policy_text(sightings: Sightings, journals: Journals) -> str:
    """The whole policy."""
    fitting, left = _fitting(grouped(sightings.of))
    left += sightings.left_out
    ordered = sorted(fitting, key=lambda one: (one.is_admin, one.key is None, one.key or "", one.name))
    modes = writing.written({"modes": {access.value: "observe" for access in RIGHTS} | {"takeover": "observe"}})
    parts = [
        HEAD.format(files=journals.files, requests=sightings.requests)
        + "".join(writing.comment(line) for line in _left_out(left, journals)),
        *(writing.principal(one) for one in ordered if not one.is_admin),
        *_admin(ordered),
        *_keys(ordered),
        modes,
    ]
    return "\n".join(parts)


def _fitting(found: Iterable[Suggested]) -> tuple[list[Suggested], Counter[Left]]:
    """Those for which a policy has room, and how many requests of others are left out."""
    fitting: list[Suggested] = []
    left: Counter[Left] = Counter()
    networks = size = 0
    for one in found:
        has_room = len(fitting) < PRINCIPALS_MAX and networks + len(one.networks) <= NETWORKS_MAX
        more = len(writing.principal(one).encode()) if has_room else 0
        if not has_room or size + more > BYTES_MAX:
            left[Left.SIZE] += one.requests
            continue
        fitting.append(one)
        networks, size = networks + len(one.networks), size + more
    return fitting, left


def _left_out(left: Counter[Left], journals: Journals) -> Iterator[str]:
    for why, number in left.most_common():
        yield f"Left out: {number} requests: {why.value}"
    if journals.unreadable:
        yield f"Left out: {journals.unreadable} lines that cannot be read"


def _admin(found: Iterable[Suggested]) -> Iterator[str]:
    admin = [one for one in found if one.is_admin]
    if admin:
        yield writing.comment(ADMIN)
    yield from map(writing.principal, admin)


def _keys(found: Iterable[Suggested]) -> Iterator[str]:
    """Each key once, as a comment if only admin requests have it."""
    needed = {one.key for one in found if one.key is not None and not one.is_admin}
    others = {one.key for one in found if one.key is not None} - needed
    if needed or others:
        yield writing.comment(KEYS)
    yield from map(writing.key, sorted(needed))
    yield from (writing.commented_out(writing.key(name)) for name in sorted(others))
