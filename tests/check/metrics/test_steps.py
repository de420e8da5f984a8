"""Each step after a new metric: a forgotten one fails here with the next step, and each check finds a planted gap."""

from __future__ import annotations

import pytest

from tests.check.metrics import steps
from tests.check.metrics.asserted import asserted
from tests.check.source import Source

NAME = "rocketns_planted_total"


def test_no_metric_lacks_a_step() -> None:
    found = list(steps.missing_steps())
    assert not found, "\n".join(found)


def test_a_metric_that_is_not_in_the_catalogue_is_found() -> None:
    module = Source("rocketns/admin/metrics/a.py", f'FAMILIES = (counter("{NAME}", "Planted.", one(read)),)')
    (found,) = steps.not_in_the_catalogue([], [module])
    assert found.startswith(f"rocketns/admin/metrics/a.py declares {NAME}, which no scrape shows. Next step: ")
    assert not list(steps.not_in_the_catalogue([NAME], [module]))


def test_a_metric_without_a_row_is_found() -> None:
    (found,) = steps.not_on_the_page([NAME], f"`{NAME}` is named, but has no row.")
    assert found == f"docs/metrics.md has no row of {NAME}. Next step: python -m tests.check.metrics"
    assert not list(steps.not_on_the_page([NAME], f"\n| `{NAME}` | counter |"))


def test_a_metric_that_no_test_asserts_is_found() -> None:
    (found,) = steps.not_asserted([NAME], [Source("a.py", f'def test_it():\n    assert "{NAME}" in NAMES\n')])
    assert found.startswith(f"no test would fail if {NAME} were always 0. Next step: a test in tests/admin/metrics/")


@pytest.mark.parametrize(
    "lines",
    [
        'assert seen("rocketns_planted_total") == 1',
        'assert seen("rocketns_planted_total", by="a") == 1',
        'assert seen("rocketns_planted_total_count") == 1',
        'assert (seen("rocketns_planted_total"), seen("rocketns_other")) == (1, 0)',
        'assert seen("rocketns_other") and seen("rocketns_planted_total") == 1',
        'assert (seen("rocketns_planted_total") or 0) > 0',
        'assert 0 < (seen("rocketns_planted_total") or 0) < 10',
        'assert seen("rocketns_planted_total") == len(names)',
        'assert [seen("rocketns_planted_total", by=by) for by in ("a", "b")] == [0, 2]',
        'name = "rocketns_planted_total"\n    before = scrape()(name)\n    assert scrape()(name) - before == 2',
        'eventually(lambda: scrape()("rocketns_planted_total") == 1)',
        "assert planted() > 1",
    ],
)
def test_an_expectation_that_would_fail_without_the_metric_asserts_it(lines: str) -> None:
    helper = 'def planted():\n    return scrape()("rocketns_planted_total") or 0\n'
    assert NAME in asserted(Source("a.py", f"{helper}def test_it():\n    {lines}\n"))


@pytest.mark.parametrize(
    "lines",
    [
        'seen("rocketns_planted_total")',
        'assert seen("rocketns_planted_total") == 0',
        'assert seen("rocketns_planted_total") is None',
        'assert seen("rocketns_planted_total") is not None',
        'assert (seen("rocketns_planted_total") or 0) >= 0',
        'assert (seen("rocketns_planted_total"), seen("rocketns_other")) == (0, 1)',
        'assert [seen("rocketns_planted_total", by=by) for by in ("a", "b")] == [0, 0]',
        'assert seen("rocketns_planted_total") == seen("rocketns_other")',
        'for name in ("rocketns_planted_total", "rocketns_other"):\n        assert seen(name) == 1',
        'assert "rocketns_planted_total" in text',
        'eventually(lambda: scrape()("rocketns_planted_total") == 0)',
    ],
)
def test_an_expectation_that_would_hold_without_the_metric_does_not_assert_it(lines: str) -> None:
    assert NAME not in asserted(Source("a.py", f"def test_it():\n    {lines}\n"))
