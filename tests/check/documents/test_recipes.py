"""Each step of the recipes in CONTRIBUTING.md: a forgotten one fails here with the next step.

Properties have theirs in test_properties.py, rows of behaviour in test_rows.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from interop.harness import codes
from interop.parity.language import Request
from interop.parity.pairs.starts import STARTS
from interop.parity.scenarios import SCENARIOS
from rocketns.processor.requests import SENT_ONLY
from rocketns.protocol.codes import RequestCode
from tests.check.rows import rows
from tests.check.source import ROOT, sources
from tests.processor.test_requests import CLASSES

ANSWERED = sorted(set(RequestCode) - SENT_ONLY)


@pytest.mark.parametrize("code", ANSWERED, ids=lambda code: code.name)
def test_a_request_code_has_its_name_in_the_harness(code: RequestCode) -> None:
    """The tests have their own list, so that a wrong number in the product's list is found."""
    assert getattr(codes, code.name, None) == code, (
        f"interop/harness/codes.py has no {code.name} = {int(code)}. Next step: add it from Java's class RequestCode"
    )


@pytest.mark.parametrize("code", ANSWERED, ids=lambda code: code.name)
def test_a_request_code_has_its_class_in_the_tests(code: RequestCode) -> None:
    assert any(code in some for some in CLASSES.values()), (
        f"CLASSES of tests/processor/test_requests.py has no {int(code)}. Next step: add it to the class of those who "
        f"send {code.name}"
    )


ASKING = "\n".join(s.text for s in sources(ROOT, "tests", suffixes=(".py",)) if not s.name.startswith("tests/check/"))


@pytest.mark.parametrize("code", ANSWERED, ids=lambda code: code.name)
def test_a_request_code_is_sent_by_a_test(code: RequestCode) -> None:
    assert re.search(rf"\b{code.name}\b", ASKING), (
        f"no test names {code.name}. Next step: a test in tests/behaviour/ that sends it and reads the answer"
    )


def requested(value: Any) -> Iterator[int]:
    """The codes of all requests in a step, a tuple of steps, or another part of a scenario."""
    if isinstance(value, Request):
        yield value.code
    elif isinstance(value, tuple):
        for one in value:
            yield from requested(one)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from requested(getattr(value, field.name))


COMPARED_CODES = {code for scenario in SCENARIOS.values() for code in requested(scenario.steps)}


@pytest.mark.parametrize("code", ANSWERED, ids=lambda code: code.name)
def test_a_request_code_is_compared_with_java(code: RequestCode) -> None:
    assert code in COMPARED_CODES, (
        f"no scenario sends {code.name}. Next step: add one to a file of interop/parity/scenarios/ "
        "(interop/parity/README.md says how)"
    )


NUMBERS = {row.number for row in rows()}


@pytest.mark.parametrize("one", [*SCENARIOS.values(), *STARTS], ids=lambda one: one.name)
def test_a_scenario_names_rows_of_behaviour(one: Any) -> None:
    named = one.rows.split()
    assert named, (
        f"the scenario {one.name} names no row. Next step: find what it compares in docs/rows.md and name the rows in "
        "its second argument; for new behaviour add a row there"
    )
    unknown = sorted(set(named) - NUMBERS)
    assert not unknown, f"the scenario {one.name} names {unknown}, which docs/rows.md does not have"
