"""Every row of the catalogue is complete. A failing test names the next step for whoever added a table."""

from __future__ import annotations

import re

import pytest

from rocketns.journal import record
from rocketns.pipeline.contract import schema
from rocketns.pipeline.contract.catalogue import BY_NAME, JOBS, LISTED, SECTIONS, Job
from rocketns.pipeline.report.grid import COLUMNS, VIEWS, columns_of
from tests.pipeline.contract import tables_page


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_every_table_has_a_section_and_a_meaning(job: Job) -> None:
    assert job.section in SECTIONS, f"give {job.name} a section of SECTIONS (contract/catalogue.py), or add one there"
    assert job.meaning, f"write what {job.name} means in contract/meanings.py"
    sorted_by = {text.split()[0] for text in job.order if text.split()[0].isidentifier()}
    assert sorted_by <= {*job.schema.names}, f"sort {job.name} by its own columns"


def test_nothing_is_left_without_a_table() -> None:
    assert len(BY_NAME) == len(JOBS)
    drawn = {"broker_intervals"}
    assert set(VIEWS) == set(LISTED) - drawn, "say in VIEWS (report/columns.py) how the page lists the table"


@pytest.mark.parametrize("name", VIEWS)
def test_the_page_lists_columns_that_the_table_has(name: str) -> None:
    assert {column.key for column in columns_of(name)} <= {*BY_NAME[name].schema.names}


def test_no_column_of_the_page_is_left_without_a_table() -> None:
    assert {name for view in VIEWS.values() for name in view.columns.split()} == set(COLUMNS)


def test_readers_know_every_column_of_the_journal() -> None:
    of_kinds = {"boot", "seq", "ts", "ev"}.union(*(kind.columns for kind in record.KINDS.values()))
    assert of_kinds == set(schema.RECORD.names)
    stated = {**record.COLUMNS, "dt": "string"}
    assert {one.name: one.dataType.simpleString() for one in schema.EVENTS} == {
        name: re.sub(r"\blong\b", "bigint", kind) for name, kind in stated.items()
    }


def test_the_page_of_tables_is_current() -> None:
    assert tables_page.PAGE.read_text("utf-8") == tables_page.page(), "python -m tests.pipeline.contract.tables_page"
