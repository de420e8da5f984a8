"""The checks in docs/doctor.md are those of the code, with what it prints."""

from __future__ import annotations

import pytest

from rocketns.doctor.checks.catalogue import CHECKS
from rocketns.doctor.finding import State
from rocketns.doctor.running import run
from tests.doctor.examples.faults import EXAMPLES
from tests.doctor.examples.parts import TOPIC, fleet
from tests.doctor.page import PAGES, written


def test_each_check_has_an_example() -> None:
    assert EXAMPLES.keys() == {check.name for check in CHECKS}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_fault_of_an_example_is_named_first(name: str) -> None:
    """Or, where it is no reason for what clients meet, at least."""
    found = [one.check for one in run(EXAMPLES[name]).of(State.ILL)]
    assert found[0] == name


def test_a_fleet_without_a_fault_is_well() -> None:
    assert run(fleet(topic=TOPIC)).of(State.ILL) == []


@pytest.mark.parametrize("language", PAGES)
def test_the_page_has_what_the_code_says(language: str) -> None:
    assert PAGES[language].read_text("utf-8") == written(language), "python -m tests.doctor.page writes it again"
