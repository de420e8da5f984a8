"""docs/audit.md names every command, option, exit status, property and column that there is."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import pytest

from rocketns.config import JournalConfig
from rocketns.config.properties import bounds_text, declared
from rocketns.journal import record
from rocketns.pipeline.cli import arguments
from rocketns.pipeline.contract import exits
from rocketns.pipeline.contract.catalogue import JOBS
from tests.pipeline.contract import tables_page

TEXT = (Path(__file__).parents[3] / "docs" / "audit.md").read_text("utf-8")
BENCHMARK = re.compile(r"`python -m benchmarks[^`]*`")
EXITS = [value for name, value in vars(exits).items() if name.startswith("EXIT_")]


def commands() -> dict[str, argparse.ArgumentParser]:
    parser = arguments.build()
    found = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(found.choices)


@pytest.mark.parametrize("name", sorted(commands()))
def test_a_command_and_all_its_options_are_documented(name: str) -> None:
    assert re.search(rf"^\| `{name}[ `]", TEXT, re.MULTILINE)
    options = {option for action in commands()[name]._actions for option in action.option_strings}
    missing = {option for option in options - {"-h", "--help"} if not re.search(rf"`{option}[` ]", TEXT)}
    assert missing == set()


def kept_in_out() -> set[str]:
    """The files and folders of --out in the table that says what is kept of them, but not what a run removes itself."""
    rows = TEXT.split("### What is in `--out`")[1].split("\n\n")[1].splitlines()[2:]
    kept = [row.split("|")[1] for row in rows if "until its end" not in row.lower()]
    return {name.split("/")[0] for paths in kept for name in re.findall(r"`([^`]+)`", paths)}


@pytest.mark.parametrize("name", ["run", "ingest", "report"])
def test_the_help_of_out_names_everything_that_is_kept_there(name: str) -> None:
    (out,) = (action for action in commands()[name]._actions if "--out" in action.option_strings)
    assert {"report.html", "summary.json", "results", "events", "earlier"} <= kept_in_out()
    assert {path for path in kept_in_out() if path not in str(out.help)} == set()


def test_the_help_of_a_stream_names_what_is_in_its_own_out() -> None:
    (out,) = (action for action in commands()["stream"]._actions if "--out" in action.option_strings)
    assert "alerts.jsonl" in str(out.help)
    assert "report.html" not in str(out.help)


def test_the_document_names_no_option_that_is_not_there() -> None:
    known = {option for one in commands().values() for action in one._actions for option in action.option_strings}
    elsewhere = {"--version"}  # of the name server
    text = BENCHMARK.sub("", TEXT)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - elsewhere <= known


@pytest.mark.parametrize("status", EXITS)
def test_each_exit_status_is_documented(status: int) -> None:
    assert re.search(rf"^\| {status} \|", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("name", "declaration"), declared(JournalConfig).items())
def test_each_property_of_the_journal_is_documented_with_its_range(name: str, declaration: Any) -> None:
    bounds = bounds_text(declaration) or ("true, false" if declaration.type == "bool" else "any")
    assert re.search(rf"^\| `{name}` \| [^|]+ \| {bounds} \| ", TEXT, re.M)


@pytest.mark.parametrize("event", record.KINDS)
def test_each_kind_of_record_is_documented_with_its_columns(event: str) -> None:
    row = next(line for line in TEXT.splitlines() if line.startswith("| ") and f"`{event}`" in line.split("|")[1])
    given = set(re.findall(r"`(\w+)`", TEXT))
    assert set(record.KINDS[event].columns) <= given
    assert row.count("|") >= 4


def test_the_page_of_tables_is_current() -> None:
    assert tables_page.PAGE.read_text("utf-8") == tables_page.page(), (
        "docs/tables.md is not what the schemas say. Next step: python -m tests.pipeline.contract.tables_page"
    )


def test_every_table_has_its_columns_and_what_they_hold() -> None:
    page = tables_page.page()
    for job in JOBS:
        part = page.split(f"\n## {job.name}\n")[1].split("\n## ")[0]
        assert re.findall(r"^\| `(\w+)` \|", part, re.M) == job.schema.names
    told = page.split("\n## incidents\n")[1].split("\n## ")[0]
    assert "queues: read queues of user topics that one name server showed and another did not" in told.replace(
        "\\", ""
    )
