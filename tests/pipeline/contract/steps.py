"""The steps of a new job of the audit that no import proves (CONTRIBUTING.md): what is missing, with the next step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from inspect import getsource

from pyspark.sql.types import StructType

from rocketns.pipeline.contract import schema
from rocketns.pipeline.contract.catalogue import JOBS, LISTED
from tests.check.source import ROOT, Source, sources

TESTS, PAGE = "tests/pipeline/jobs", "rocketns/pipeline/report"
DEFINITIONS = "docs/audit-definitions.md"
DEFINED_BELOW = f"# The tables below are defined in {DEFINITIONS}"


def missing_steps() -> Iterator[str]:
    """One sentence for each step that was forgotten."""
    yield from not_tested([job.function for job in JOBS], sources(ROOT, TESTS))
    yield from not_on_the_page(LISTED, sources(ROOT, PAGE))
    exact = [job.name for job in JOBS if any(job.schema is one for one in with_definition())]
    yield from not_defined(exact, (ROOT / DEFINITIONS).read_text("utf-8"))


def with_definition() -> list[StructType]:
    """The schemas below the comment that says where they are defined. docs/audit.md describes the others."""
    _, _, below = getsource(schema).partition(DEFINED_BELOW)
    return [getattr(schema, name) for name in re.findall(r"^([A-Z_]+) = ", below, re.MULTILINE)]


def not_tested(functions: Iterable[str], tests: Iterable[Source]) -> Iterator[str]:
    """Functions of jobs that no test of a few rows calls, or takes the frame of."""
    text = "\n".join(test.text for test in tests)
    for function in functions:
        name = function.rpartition(".")[2]
        if not re.search(rf"\b{name}\(|\.{name}\b(?! import)", text):
            yield f"no test calls {function}. Next step: a test on a few rows in {TESTS}/"


def not_on_the_page(names: Iterable[str], modules: Iterable[Source]) -> Iterator[str]:
    """Tables with an order that no section of the page reads."""
    text = "\n".join(module.text for module in modules)
    for name in names:
        if f'data["{name}"]' not in text:
            yield (
                f'no section of the page reads data["{name}"]. Next step: list it in its section in {PAGE}/sections/, '
                "or take its order out of the catalogue"
            )


def not_defined(names: Iterable[str], definitions: str) -> Iterator[str]:
    """Tables whose columns nothing defines exactly."""
    for name in names:
        if f"`{name}`" not in definitions:
            yield f"{DEFINITIONS} does not define {name}. Next step: a section there, or a part of one"
