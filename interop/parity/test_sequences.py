"""Random sequences, played on both servers. A failing one is shortened, and the failure says how to replay it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest
from _pytest.mark.structures import ParameterSet

from interop.parity.comparing.play import Difference
from interop.parity.comparing.playing import play
from interop.parity.conftest import PairOf
from interop.parity.generated import sequences
from interop.parity.generated.sequences import ODD_SEEDS, SEEDS, STEPS, as_text, from_text
from interop.parity.generated.shrink import shrink
from interop.parity.language import JSON_513
from interop.parity.mutations import MUTATIONS, Tampered
from interop.parity.pairs.pair import Pair
from interop.parity.pairs.side import Side

TRIES_MAX = 60
# Where all tests run, the others wait for it.
SHORTENED_FOR_S = 60.0 if os.environ.get("CI") else 400.0


def differences(pair: Pair, seed: str, numbers: list[int], tampered: Side | None = None) -> list[Difference]:
    return play(pair, sequences.scenario(seed, numbers), JSON_513, tampered)


def _seeds() -> Iterator[ParameterSet]:
    """`make test` plays the first of each kind."""
    for first, *others in (SEEDS, ODD_SEEDS):
        yield pytest.param(first)
        yield from (pytest.param(seed, marks=pytest.mark.slow) for seed in others)


@pytest.mark.parametrize("seed", list(_seeds()))
def test_both_servers_stay_alike(seed: str, pair_of: PairOf) -> None:
    """Every answer, and everything that can be asked, after any of 200 random steps."""
    pair = pair_of("base")
    found = differences(pair, seed, list(range(STEPS)))
    if found:
        short = shrink(range(STEPS), lambda numbers: bool(differences(pair, seed, numbers)), TRIES_MAX, SHORTENED_FOR_S)
        again = f"python -m interop.parity --seed {seed} --steps {as_text(short)}"
        pytest.fail(f"play it again: {again}\n\n" + "\n\n".join(map(str, differences(pair, seed, short) or found)))


@pytest.mark.slow
def test_a_fault_makes_a_sequence_fail_and_the_short_one_too(pair_of: PairOf) -> None:
    pair = pair_of("base")
    fault = next(one for one in MUTATIONS if one.name == "unregistration-without-effect")

    def fails(numbers: list[int]) -> bool:
        return bool(differences(pair, "0", numbers, Tampered(pair.ours[0], fault)))

    assert fails(list(range(STEPS)))
    short = shrink(range(STEPS), fails, 12)
    assert len(short) < STEPS // 2
    assert fails(short)
    assert not differences(pair, "0", short)


def test_there_are_enough_steps_and_seeds() -> None:
    assert len(SEEDS) >= 50
    assert STEPS >= 200


@pytest.mark.parametrize("culprits", [{7}, {3, 90}, {0, 199}, {11, 12, 150}])
def test_a_failing_sequence_shrinks_to_what_makes_it_fail(culprits: set[int]) -> None:
    assert set(shrink(range(STEPS), culprits.issubset, 10_000)) == culprits


def test_shrinking_ends_with_what_it_has_when_the_tries_are_used_up() -> None:
    fails = {3, 90}.issubset
    short = shrink(range(STEPS), fails, 9)
    assert fails(short)
    assert len(short) < STEPS


def test_shrinking_ends_with_what_it_has_when_the_time_is_over() -> None:
    assert shrink(range(STEPS), {3, 90}.issubset, 10_000, within_s=0.0) == list(range(STEPS))


def test_a_part_of_a_sequence_has_the_steps_that_the_whole_has() -> None:
    whole = sequences.scenario("1", range(10)).steps
    parts = sequences.scenario("1", range(4)).steps + sequences.scenario("1", range(4, 10)).steps
    assert whole == parts


def test_the_numbers_of_steps_as_text() -> None:
    numbers = sorted(random.Random(1).sample(range(200), 90))
    assert from_text(as_text(numbers)) == numbers
    assert as_text([1, 2, 3, 7, 9, 10]) == "1-3,7,9-10"
