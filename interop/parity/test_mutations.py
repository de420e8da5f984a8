"""The suite finds faults: each of these, planted into rocketns' frames, makes its scenario fail."""

from __future__ import annotations

import pytest

from interop.parity.comparing.differences import seen, shows
from interop.parity.comparing.playing import play
from interop.parity.conftest import PairOf
from interop.parity.mutations import MUTATIONS, RESTORED, Mutation, Tampered
from interop.parity.scenarios import SCENARIOS

UNHARMED = Mutation("nothing", "zones")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[f"{one.name} by {one.scenario}" for one in MUTATIONS])
def test_a_fault_is_seen(mutation: Mutation, pair_of: PairOf) -> None:
    pair = pair_of("base")
    faulty = Tampered(pair.ours[0], mutation)
    assert play(pair, SCENARIOS[mutation.scenario], mutation.form, faulty), f"{mutation.scenario} sees no difference"


@pytest.mark.parametrize("mutation", RESTORED, ids=[f"{one.name} by {one.scenario}" for one in RESTORED])
def test_a_fault_after_a_restart_is_no_deliberate_difference(mutation: Mutation, pair_of: PairOf) -> None:
    pair, scenario = pair_of("restoring"), SCENARIOS[mutation.scenario]
    faulty = Tampered(pair.ours[0], mutation)
    differences = play(pair, scenario, mutation.form, faulty)
    assert {seen(one) for one in differences} != shows(scenario, faulty.mode)


def test_an_unharmed_answer_has_no_difference(pair_of: PairOf) -> None:
    pair = pair_of("base")
    assert not play(pair, SCENARIOS[UNHARMED.scenario], UNHARMED.form, Tampered(pair.ours[0], UNHARMED))


def test_there_are_enough_faults() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 20
