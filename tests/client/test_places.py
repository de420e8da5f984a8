"""How many connections there may be to a host, and when an address is tried again."""

from __future__ import annotations

import pytest

from rocketns.client import places
from rocketns.client.places import REST_S, REST_S_MAX, Places

A, B = "10.0.0.1", "10.0.0.2"


def test_so_many_to_one_host_at_once() -> None:
    of = Places(2)
    of.take(A, 0)
    assert of.why_not(f"{A}:1", A, 10) == ""
    of.take(A, 10)
    assert "outgoingConnectionsPerHostMax" in of.why_not(f"{A}:1", A, 20)
    assert of.why_not(f"{B}:1", B, 20) == ""
    of.leave(A)
    assert of.why_not(f"{A}:1", A, 20) == ""


def test_so_many_to_one_host_in_a_second() -> None:
    """Also where each of them ended at once."""
    of = Places(2)
    for now_s in (0.0, 0.5):
        assert of.why_not(f"{A}:1", A, now_s) == ""
        of.take(A, now_s)
        of.leave(A)
    assert "in a second" in of.why_not(f"{A}:2", A, 0.9)
    assert of.why_not(f"{A}:2", A, 1.0) == ""


def test_an_address_that_fails_rests_twice_as_long_each_time() -> None:
    of, now_s, waits = Places(9), 0.0, []
    for _ in range(9):
        of.failed(f"{A}:1", now_s)
        began_s = now_s
        while of.why_not(f"{A}:1", A, now_s):
            now_s += 0.5
        waits.append(now_s - began_s)
    assert waits == [1, 2, 4, 8, 16, 32, 64, 64, 64]
    assert (REST_S, REST_S_MAX) == (1, 64)
    of.succeeded(f"{A}:1")
    of.failed(f"{A}:1", now_s)
    assert of.why_not(f"{A}:1", A, now_s + 1) == ""


def test_an_address_of_the_operator_rests_as_at_first() -> None:
    of = Places(9)
    for _ in range(9):
        of.failed(f"{A}:1", 0, REST_S)
    assert of.why_not(f"{A}:1", A, REST_S) == ""


def test_other_addresses_of_the_host_do_not_rest() -> None:
    of = Places(9)
    of.failed(f"{A}:1", 0)
    assert of.why_not(f"{A}:2", A, 0) == ""


def test_remembered_places_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest is forgotten."""
    monkeypatch.setattr(places, "REMEMBERED_MAX", 3)
    of = Places(9)
    for port in range(9):
        of.failed(f"{A}:{port}", 0)
        of.take(f"host-{port}", 0)
        of.leave(f"host-{port}")
    assert [len(table) for table in (of._rests, of._opened, of._used)] == [3, 3, 0]
    assert of.why_not(f"{A}:0", A, 0) == ""
    assert of.why_not(f"{A}:8", A, 0)
