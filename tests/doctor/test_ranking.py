"""The order of findings."""

from __future__ import annotations

from rocketns.doctor.checks.catalogue import CHECKS
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.running import ranked

FIRST, LAST = CHECKS[0].name, CHECKS[-1].name


def names(*findings: Finding) -> list[str]:
    return [one.sentence for one in ranked(findings)]


def test_what_is_wrong_comes_before_what_cannot_be_told_before_what_is_well() -> None:
    well, unknown, ill = (Finding(FIRST, state, state.name) for state in (State.WELL, State.UNKNOWN, State.ILL))
    assert names(well, unknown, ill) == ["ILL", "UNKNOWN", "WELL"]


def test_what_explains_more_comes_first_whatever_its_place_in_the_table() -> None:
    part = Finding(FIRST, State.ILL, "part", weight=Weight.PARTLY)
    whole = Finding(LAST, State.ILL, "whole", weight=Weight.EXPLAINS)
    assert names(part, whole) == ["whole", "part"]


def test_of_equal_weights_that_nearer_to_the_client_comes_first() -> None:
    assert names(Finding(LAST, State.ILL, "far"), Finding(FIRST, State.ILL, "near")) == ["near", "far"]


def test_a_cause_comes_before_what_follows_from_it_though_it_weighs_less() -> None:
    cause = Finding(FIRST, State.ILL, "cause", weight=Weight.PARTLY)
    other = Finding("other", State.ILL, "other", weight=Weight.PRECISELY)
    effect = Finding(LAST, State.ILL, "effect", weight=Weight.EXPLAINS, follows=frozenset({FIRST}))
    assert names(effect, cause, other) == ["other", "cause", "effect"]


def test_a_cause_that_is_well_moves_nothing() -> None:
    well = Finding(FIRST, State.WELL, "well")
    effect = Finding(LAST, State.ILL, "effect", follows=frozenset({FIRST}))
    assert names(effect, well) == ["effect", "well"]


def test_findings_that_follow_from_each_other_are_all_kept() -> None:
    one = Finding(FIRST, State.ILL, "one", follows=frozenset({LAST}))
    other = Finding(LAST, State.ILL, "other", follows=frozenset({FIRST}))
    assert sorted(names(one, other)) == ["one", "other"]


def test_every_check_has_a_name_of_its_own_and_is_explained() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.about and check.explanation for check in CHECKS)
