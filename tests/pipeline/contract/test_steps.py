"""Each step of a new job that no import proves: a forgotten one fails here, and each check finds a planted gap."""

from __future__ import annotations

from rocketns.pipeline.contract.schema import GROWTH_LIMITS, KEY_WINDOWS
from tests.check.source import Source
from tests.pipeline.contract import steps


def test_no_job_lacks_a_step() -> None:
    found = list(steps.missing_steps())
    assert not found, "\n".join(found)


def test_a_function_that_no_test_calls_is_found() -> None:
    imports = Source("test_a.py", "from rocketns.pipeline.jobs.fleet.planted import planted\nsowplanted()\n")
    (found,) = steps.not_tested(["fleet.planted.planted"], [imports])
    assert found == "no test calls fleet.planted.planted. Next step: a test on a few rows in tests/pipeline/jobs/"
    for text in ("assert rows(planted(frame)) == []", "assert rows(made.planted) == []"):
        assert not list(steps.not_tested(["fleet.planted.planted"], [Source("test_a.py", text)]))


def test_a_listed_table_that_no_section_reads_is_found() -> None:
    (found,) = steps.not_on_the_page(["planted"], [Source("a.py", 'meaning("planted"), data["others"]')])
    assert found.startswith('no section of the page reads data["planted"]. Next step: list it in its section in ')
    assert not list(steps.not_on_the_page(["planted"], [Source("a.py", 'data["planted"]')]))


def test_a_table_without_a_definition_is_found() -> None:
    (found,) = steps.not_defined(["planted"], "The planted rows.")
    assert found.startswith("docs/audit-definitions.md does not define planted. Next step: ")
    assert not list(steps.not_defined(["planted"], "`planted`, a row for each"))


def test_a_table_needs_a_definition_where_its_columns_stand_below_the_line_that_says_so() -> None:
    assert GROWTH_LIMITS in steps.with_definition()
    assert KEY_WINDOWS not in steps.with_definition()
