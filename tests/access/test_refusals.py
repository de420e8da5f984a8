"""How much the records of refused requests may grow, whatever strangers send, and who is named in them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rocketns.access import refusals
from rocketns.access.refusals import INTERVAL_MS, OTHERS, RefusedRequests
from rocketns.access.shown import FIELDS_MAX, TEXT_BYTES_MAX
from rocketns.journal.encoding import request_record
from rocketns.logs import escape, is_shortened, shortened, written_bytes
from rocketns.routeinfo.events import RequestRefused

# What costs most in a record or a log line: escapes, characters of many bytes, and lone surrogates.
COSTLY = ["\x01", "\\", '"', "\ud800", "\u202e", "é", "中", "😀", "x"]
AROUND_BYTES = 512  # of a record without its fields


def of(host: str, code: int = 216, key: str | None = None) -> RequestRefused:
    return RequestRefused(code, "admin", "no_evidence", host, None, key, is_enforced=True, count=1, fields=())


def junk(char: str, number: int = 0) -> dict[str, str | None]:
    return {f"{number}-{field}{char * 200}": char * 200 for field in range(FIELDS_MAX)}


def record_bytes(event: RequestRefused) -> int:
    return len(request_record(event))


@pytest.mark.parametrize("char", COSTLY)
def test_a_text_is_cut_to_bytes_as_they_are_written(char: str) -> None:
    text = shortened(char * 1_000, TEXT_BYTES_MAX)
    assert is_shortened(text)
    assert 0 < written_bytes(text.partition("…")[0]) <= TEXT_BYTES_MAX
    assert len(escape(text)) <= TEXT_BYTES_MAX + len("… (cut, 1000 characters)")
    assert shortened("broker-a", 8) == "broker-a"


@pytest.mark.parametrize("char", COSTLY)
def test_one_host_writes_few_bytes_in_a_minute_whatever_it_sends(char: str) -> None:
    """It was 661 KiB."""
    found, size = RefusedRequests(), 0
    for number in range(1_000):
        event = found.note(of("10.0.0.1", number, f"{char * 1_000}{number}"), junk(char, number), 0)
        size += 0 if event is None else record_bytes(event)
    kinds = refusals.KINDS_OF_A_HOST_MAX + 1
    assert 0 < size <= refusals.HOST_BYTES_MAX + kinds * (AROUND_BYTES + TEXT_BYTES_MAX)


def rounds(found: RefusedRequests, hosts: list[str], count: int) -> Iterator[RequestRefused | None]:
    for number in range(count):
        for host in hosts:
            yield found.note(of(host, number), junk("\x01"), 0)


def test_all_hosts_together_write_few_bytes_in_a_minute() -> None:
    found = RefusedRequests()
    events = [event for event in rounds(found, [f"10.0.{n // 200}.{n % 200}" for n in range(2_000)], 8) if event]
    assert len(events) <= refusals.KINDS_MAX + 1 + refusals.NEWCOMERS_MAX
    assert sum(map(record_bytes, events)) <= refusals.BYTES_MAX + len(events) * AROUND_BYTES


def test_a_new_attacker_is_named_though_others_have_all_the_room() -> None:
    """Also while many others come, and without a place for those that were named before."""
    found = RefusedRequests()
    attackers = [f"10.0.0.{n}" for n in range(refusals.KINDS_MAX // 16 + 8)]
    list(rounds(found, attackers, 20))
    named = found.note(of("192.0.2.7"), {"topic": "T"}, 1_000)
    assert named is not None
    assert (named.host, named.count) == ("192.0.2.7", 1)
    assert found.note(of("192.0.2.7"), {"topic": "T"}, 1_000) is None
    assert [event for event in rounds(found, attackers, 40) if event] == []
    (others,) = [event for event in found.due(INTERVAL_MS + 1_000) if event.host is OTHERS]
    assert others.count > 1


def test_newcomers_of_a_minute_are_bounded_and_have_room_again_in_the_next() -> None:
    found = RefusedRequests()
    list(rounds(found, [f"10.0.{n // 200}.{n % 200}" for n in range(refusals.KINDS_MAX + 500)], 1))
    assert found.note(of("192.0.2.7"), None, 1_000) is None
    named = found.note(of("192.0.2.7"), None, INTERVAL_MS)
    assert named is not None
    assert named.host == "192.0.2.7"
