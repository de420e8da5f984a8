"""Every row of the Java server's behaviour has a scenario or a test that names it."""

from __future__ import annotations

from tests.check.rows import compared, described, named, rows
from tests.check.source import ROOT


def test_every_row_has_a_scenario_or_a_test_that_names_it() -> None:
    numbers = [row.number for row in rows()]
    assert numbers == [f"B{number:03}" for number in range(1, 252)]
    assert not set(numbers) - named(ROOT).keys() - compared().keys()
    assert not compared().keys() - set(numbers)


def test_the_command_prints_a_row_with_its_scenarios() -> None:
    first, *lines = described(["B007"])
    assert first.startswith("B007  ")
    assert [line.split()[1] for line in lines if line.split()[0] == "scenario"] == compared()["B007"]
