"""Selects jobs of the catalogue, so that a test does not run all of them."""

from __future__ import annotations

from collections.abc import Iterable

from rocketns.pipeline.batch.inputs import inputs_of
from rocketns.pipeline.batch.run import Request, options
from rocketns.pipeline.contract.catalogue import BY_NAME, JOBS
from rocketns.pipeline.contract.job import Job

# Inputs that come from tables or options, not from records.
FROM_TABLES = {"system_topics", "read_segments", "sizes"}
NO_RECORDS = {"observation", "keep", "hold", *options(Request("", "")), *FROM_TABLES, *BY_NAME}


def with_inputs(tables: Iterable[str]) -> list[Job]:
    """The jobs of these tables, and of the tables they are computed from."""
    wanted = set(tables)
    todo = list(wanted)
    while todo:
        more = set(inputs_of(BY_NAME[todo.pop()])) & BY_NAME.keys() - wanted
        wanted |= more
        todo += more
    return [job for job in JOBS if job.name in wanted]


def reading_records() -> list[str]:
    """The tables whose jobs read more than tables and options."""
    return [job.name for job in JOBS if set(inputs_of(job)) - NO_RECORDS]
