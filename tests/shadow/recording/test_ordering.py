"""Pairs that were written late are played where they belong, and few are held back for that."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness import codes
from rocketns.shadow.recording import file as recording_file
from rocketns.shadow.recording.file import LATE_MS_MAX, in_time
from rocketns.shadow.recording.lines import Recorded
from tests.shadow.recording.pairs import pair, request

ONE = pair(request(codes.GET_KV_CONFIG))


def times(*at_ms: int) -> list[int]:
    """In which order pairs of these times, written in this order, come out."""
    written = [(number, Recorded(ONE._replace(at_ms=one, upstream_ms=None))) for number, one in enumerate(at_ms)]
    return [number for number, _ in in_time(written)]


def test_a_pair_that_was_asked_for_again_is_where_it_came() -> None:
    assert times(1_000, 3_000, 2_000, 2_000, 500) == [4, 0, 2, 3, 1]


def test_what_was_answered_first_comes_first() -> None:
    slow, quick = ONE._replace(at_ms=1_000, upstream_ms=50.5), ONE._replace(at_ms=1_020, upstream_ms=0.5)
    assert [number for number, _ in in_time([(0, Recorded(slow)), (1, Recorded(quick))])] == [1, 0]


@given(st.lists(st.integers(0, LATE_MS_MAX), max_size=30))
def test_whatever_is_late_within_the_limit_is_sorted(at_ms: list[int]) -> None:
    assert times(*at_ms) == [number for number, _ in sorted(enumerate(at_ms), key=lambda item: item[1])]


def test_no_more_than_the_limit_is_held_back() -> None:
    taken = itertools.count()

    def written() -> itertools.chain[tuple[int, Recorded]]:
        return itertools.chain((next(taken), Recorded(ONE._replace(at_ms=one))) for one in range(0, 10**7, 1_000))

    next(in_time(written()))
    assert next(taken) <= LATE_MS_MAX // 1_000 + 2


@pytest.mark.parametrize(("limit", "value"), [("HELD_MAX", 3), ("HELD_BYTES_MAX", 3 * 300)])
def test_a_hostile_file_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    monkeypatch.setattr(recording_file, limit, value)
    taken = []

    def written() -> itertools.chain[tuple[int, Recorded]]:
        return itertools.chain((taken.append(one) or one, Recorded(ONE)) for one in range(1_000))  # type: ignore[func-returns-value]

    next(in_time(written()))
    assert len(taken) <= 10
