"""A full gate: whose connection makes room for a new one."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

import pytest

from rocketns.admin import gate
from rocketns.admin.gate import Gate, Guard

PROBE, OTHER = "10.0.0.1", "10.0.0.2"


def entered(at: Gate, host: str, *, is_answering: bool, unsent: int = 0) -> Guard:
    """A connection of this host whose transport is not a real one."""
    transport = Mock(asyncio.Transport)
    transport.get_extra_info.return_value = (host, 1)
    transport.get_write_buffer_size.return_value = unsent
    guard = Guard(at, Mock)
    guard.connection_made(transport)
    guard.is_answering = is_answering
    return guard


def ended(guard: Guard) -> bool:
    assert guard.transport is not None
    return bool(guard.transport.abort.called)  # type: ignore[attr-defined]


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Gate:
    at = Gate()
    monkeypatch.setattr(at, "now_s", lambda: 0.0)
    return at


@pytest.mark.parametrize("is_answering", [True, False])
def test_a_host_that_asks_for_much_does_not_end_the_request_of_another(full: Gate, is_answering: bool) -> None:
    """Also if the other's connection is the oldest of those that are answered, or the only one that waits."""
    probe = entered(full, PROBE, is_answering=is_answering)
    others = [entered(full, OTHER, is_answering=True) for _ in range(2 * gate.CONNECTIONS_MAX)]
    assert [ended(guard) for guard in (probe, others[0])] == [False, True]


def test_the_oldest_waiting_connection_makes_room_if_hosts_are_many(full: Gate) -> None:
    """The host with the most has no more than a sixteenth, so it does not matter which."""
    answered = [entered(full, OTHER, is_answering=True) for _ in range(8)]
    waiting = [entered(full, f"10.0.1.{number}", is_answering=False) for number in range(gate.CONNECTIONS_MAX)]
    assert [ended(guard) for guard in waiting[:9]] == [True] * 8 + [False]
    assert not any(map(ended, answered))


def test_a_host_that_reads_nothing_does_not_end_the_answer_of_another(full: Gate) -> None:
    """The other's answer is larger than each of the host's."""
    quarter = gate.UNSENT_BYTES_MAX // 4
    probe = entered(full, PROBE, is_answering=True, unsent=quarter // 2)
    others = [entered(full, OTHER, is_answering=True, unsent=quarter // 4) for _ in range(16)]
    full.shed()
    assert not ended(probe)
    assert sum(map(ended, others)) == 2
