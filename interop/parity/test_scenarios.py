"""Every scenario, played on the Java NameServer and on rocketns: answers are equal except for listed differences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from interop.parity.comparing.perform import TooLate
from interop.parity.comparing.playing import PLAYS_MAX, play_in_time, play_until_seen, shown
from interop.parity.conftest import PairOf
from interop.parity.language import JSON_513, Form, InTime, Scenario
from interop.parity.pairs import starts
from interop.parity.pairs.starts import STARTS, Start
from interop.parity.scenarios import cases


def _cases() -> Iterator[ParameterSet]:
    """`make test` plays each scenario once, in its first form."""
    played: set[str] = set()
    for scenario, form in cases():
        marks = [pytest.mark.slow] if scenario.name in played else []
        played.add(scenario.name)
        yield pytest.param(scenario, form, id=f"{scenario.name}-{form}", marks=marks)


def _starts() -> Iterator[ParameterSet]:
    """`make test` has the one that serves."""
    for number, start in enumerate(STARTS):
        yield pytest.param(start, id=start.name, marks=[pytest.mark.slow] if number else [])


@pytest.mark.parametrize(("scenario", "form"), list(_cases()))
def test_both_servers_answer_alike(scenario: Scenario, form: Form, pair_of: PairOf) -> None:
    """The rows that the scenario names. Steps marked as different must differ, and no others."""
    others, unseen = play_until_seen(pair_of(scenario.setup), scenario, form)
    assert not others, shown(scenario, form, others)
    assert not unseen, f"{scenario.name} no longer shows {unseen} of docs/differences.md"


@pytest.mark.parametrize("start", list(_starts()))
def test_both_programs_start_alike(start: Start, tmp_path: Path) -> None:
    """The rows that the start names."""
    differing = starts.compare(start, tmp_path)
    assert bool(differing) == bool(start.differs), f"{start.name}: {differing}, listed as {start.differs or 'none'}"


def test_a_play_that_took_too_long_is_played_again_and_never_taken_for_alike(pair_of: PairOf) -> None:
    pair = pair_of("base")
    before = next(pair.numbers)
    with pytest.raises(TooLate):
        play_in_time(pair, Scenario("never in time", "", (InTime(0.0),)), JSON_513)
    assert next(pair.numbers) - before == PLAYS_MAX + 1
