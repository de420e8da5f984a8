"""Every row of the catalogue is complete. A failing test names the next step for whoever added a job."""

from __future__ import annotations

import inspect
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from rocketns.pipeline.batch.inputs import MAKERS, STEPS, function_of, inputs_of
from rocketns.pipeline.contract.catalogue import BY_NAME, FINDINGS, JOBS
from rocketns.pipeline.contract.job import CLOCKS, INPUTS, SECTIONS, STAGES, Job
from rocketns.pipeline.report.page import BUILDERS
from tests.pipeline.duck.twins import TWINS

DOCS = Path(__file__).parents[3] / "docs" / "audit.md"
CATALOGUE = "rocketns/pipeline/contract/catalogue.py"
EACH = pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)


@EACH
def test_the_function_is_there(job: Job) -> None:
    try:
        function_of(job)
    except (ImportError, AttributeError):
        pytest.fail(f"write rocketns.pipeline.jobs.{job.function}, or correct its name in {CATALOGUE}")


@EACH
def test_every_input_is_a_table_or_described(job: Job) -> None:
    unknown = [name for name in inputs_of(job) if name not in BY_NAME and name not in INPUTS]
    assert not unknown, f"describe {unknown} in INPUTS (contract/job.py) and make them in batch/inputs.py"


def test_no_table_and_no_input_follows_from_itself() -> None:
    asked = {job.name: inputs_of(job) for job in JOBS}
    asked |= {name: re.findall(r'self\["(\w+)"\]', inspect.getsource(make)) for name, make in MAKERS.items()}
    assert asked["hours"], "inputs of batch/inputs.py ask as self[...]"
    try:
        TopologicalSorter(asked).prepare()
    except CycleError as error:
        pytest.fail(f"break the circle of {error.args[1]}")


@pytest.mark.parametrize("job", [job for job in JOBS if job.stage == CLOCKS], ids=lambda job: job.name)
def test_clocks_follow_from_clocks_alone(job: Job) -> None:
    late = [name for name in inputs_of(job) if name in BY_NAME and BY_NAME[name].stage != CLOCKS]
    assert not late, f"{job.name} comes before {late}, which need corrected times"


@EACH
def test_a_section_of_the_page_and_a_meaning_belong_to_every_job(job: Job) -> None:
    assert job.section in SECTIONS, f"give {job.name} a section of SECTIONS (contract/job.py), or add one there"
    assert job.stage in STAGES, f"give {job.name} a stage of STAGES (contract/job.py), or add one there"
    step = f"write what {job.name} means in contract/meanings.py, and at least one limit: what it does not say"
    assert job.meaning.text, step
    assert job.meaning.limits, step


@EACH
def test_every_job_has_a_twin(job: Job) -> None:
    assert job.name in TWINS, f"write {job.name} as SQL for DuckDB in tests/pipeline/duck, and add it to duck/twins.py"


@EACH
def test_sorting_uses_columns_of_the_table(job: Job) -> None:
    words = {text.split()[0] for text in job.order if text.split()[0].isidentifier()}
    assert words <= set(job.schema.names) | {"if"}, f"sort {job.name} by its own columns"


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(JOBS)
    assert len(FINDINGS) == sum(job.finding is not None for job in JOBS)


def test_no_twin_is_left_without_a_job() -> None:
    left = set(TWINS) - set(BY_NAME)
    assert not left, f"take {sorted(left)} out of duck/twins.py: no job makes them"


def test_every_stage_has_a_job() -> None:
    assert {job.stage for job in JOBS} == set(STAGES), "remove what no job names from STAGES (contract/job.py)"


def test_every_section_has_a_builder() -> None:
    assert set(BUILDERS) == set(SECTIONS), "write the section in report/sections, and add it to BUILDERS of page.py"


def test_every_input_can_be_made() -> None:
    given = {"files", "observation", "keep", "hold", "min_window_us", "group_sizes", "dead_days", "target_percent"}
    given |= {"earlier_clocks", "clocks_within_us"}
    assert (set(MAKERS) - set(STEPS)) | given == set(INPUTS), "make the input in MAKERS of batch/inputs.py"


def test_the_table_of_tables_in_the_documentation_is_that_of_the_catalogue() -> None:
    text = DOCS.read_text("utf-8")
    head, *rows = documented()
    lacking = [row for row in rows if row not in text] or rows
    assert "\n".join([head, *rows]) in text, (
        "the table of result tables in docs/audit.md has other rows than the catalogue, or another order. Next step: "
        "in the order of the catalogue\n" + "\n".join(lacking)
    )


def documented() -> list[str]:
    """The lines of the table of result tables."""
    rows = [
        f"| `{job.name}` | {job.rows} | {SECTIONS[job.section]} | {job.finding.words if job.finding else ''} |".replace(
            "|  |", "| |"
        )
        for job in JOBS
    ]
    return ["| Table | One row is | Section of the page | What it counts as a finding |", "|---|---|---|---|", *rows]
