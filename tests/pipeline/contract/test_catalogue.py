"""Every row of the catalogue is complete. A failing test names the next step for whoever added a job."""

from __future__ import annotations

import inspect
import re
from graphlib import TopologicalSorter

import pytest

from rocketns.journal import record
from rocketns.pipeline.batch.inputs import MAKERS, function_of, inputs_of
from rocketns.pipeline.contract import schema
from rocketns.pipeline.contract.catalogue import BY_NAME, JOBS
from rocketns.pipeline.contract.job import CLOCKS, INPUTS, SECTIONS, STAGES, Job
from rocketns.pipeline.report.page import BUILDERS
from tests.pipeline.contract import tables_page

CATALOGUE = "rocketns/pipeline/contract/catalogue.py"


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_every_job_has_a_function_a_schema_and_a_meaning(job: Job) -> None:
    try:
        function_of(job)
    except (ImportError, AttributeError):
        pytest.fail(f"write rocketns.pipeline.jobs.{job.function}, or correct its name in {CATALOGUE}")
    unknown = [name for name in inputs_of(job) if name not in BY_NAME and name not in INPUTS]
    assert not unknown, f"describe {unknown} in INPUTS (contract/job.py) and make them in batch/inputs.py"
    late = [name for name in inputs_of(job) if name in BY_NAME and BY_NAME[name].stage != CLOCKS]
    assert job.stage != CLOCKS or not late, f"{job.name} comes before {late}, which need corrected times"
    assert job.section in SECTIONS, f"give {job.name} a section of SECTIONS (contract/job.py), or add one there"
    assert job.stage in STAGES, f"give {job.name} a stage of STAGES (contract/job.py), or add one there"
    step = f"write what {job.name} means in contract/meanings.py, and at least one limit: what it does not say"
    assert job.meaning.text, step
    assert job.meaning.limits, step
    sorted_by = {text.split()[0] for text in job.order if text.split()[0].isidentifier()}
    assert sorted_by <= {*job.schema.names, "if"}, f"sort {job.name} by its own columns"


def test_nothing_is_left_without_a_job() -> None:
    assert len(BY_NAME) == len(JOBS)
    assert set(BUILDERS) == set(SECTIONS), "write the section in report/sections, and add it to BUILDERS of page.py"


def test_no_table_and_no_input_follows_from_itself() -> None:
    asked = {job.name: inputs_of(job) for job in JOBS}
    asked |= {name: re.findall(r'self\["(\w+)"\]', inspect.getsource(make)) for name, make in MAKERS.items()}
    assert asked["hours"], "inputs of batch/inputs.py ask as self[...]"
    TopologicalSorter(asked).prepare()


def test_readers_know_every_column_of_the_journal() -> None:
    of_kinds = {"boot", "seq", "ts", "ev"}.union(*(kind.columns for kind in record.KINDS.values()))
    assert of_kinds == set(schema.RECORD.names)
    stated = {**record.COLUMNS, "dt": "string"}
    assert {one.name: one.dataType.simpleString() for one in schema.EVENTS} == {
        name: re.sub(r"\blong\b", "bigint", kind) for name, kind in stated.items()
    }


def test_the_page_of_tables_is_current() -> None:
    assert tables_page.PAGE.read_text("utf-8") == tables_page.page(), "python -m tests.pipeline.contract.tables_page"
