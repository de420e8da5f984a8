"""`rocketns audit run` on the journals of three real name servers that keep writing, with the default rotation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch.findings import RunOutcome
from rocketns.pipeline.batch.run import Request, audit
from rocketns.pipeline.contract.exits import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_NOTHING
from tests.pipeline.batch.livefleet import Fleet

Audit = Callable[[Fleet], RunOutcome]


@pytest.fixture
def fleets(tmp_path: Path) -> Iterator[Callable[..., Fleet]]:
    """Fleets that are stopped after the test."""
    started: list[Fleet] = []

    def start(**more: object) -> Fleet:
        started.append(Fleet(tmp_path / f"fleet{len(started)}", **more))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for fleet in started:
        fleet.stop()


@pytest.fixture
def audited(spark: SparkSession) -> Audit:
    """A whole run over the present files, into the folder of the earlier runs."""

    def run_now(fleet: Fleet) -> RunOutcome:
        return audit(spark, Request(str(fleet.journal), str(fleet.journal.parent / "out")), lambda _: None)

    return run_now


def test_a_cut_that_is_made_while_a_fleet_lives_is_all_that_is_found(
    fleets: Callable[..., Fleet], audited: Audit
) -> None:
    """All records of it are in files that are not closed yet. The name server drops the broker after 120 s."""
    fleet = fleets()
    fleet.live(900)
    fleet.cut(1, "n2")
    fleet.live(180)
    outcome = audited(fleet)
    assert outcome.exit_status == EXIT_FINDINGS, outcome.lines
    assert outcome.findings["departures"] == 1
    lines = (fleet.journal.parent / "out" / "incidents.jsonl").read_text("utf-8").splitlines()
    told = [json.loads(line) for line in lines]  # one more for each topic that the broker gets while it is cut off
    assert ("missing", ["n2"]) in [(one["kind"], one["ns"]) for one in told]
    assert {tuple(one["brokers"]) for one in told} == {("broker-2",)}


def test_a_killed_name_server_is_told_from_one_whose_file_is_not_closed(
    fleets: Callable[..., Fleet], audited: Audit
) -> None:
    """n3's clock is 150 s ahead, which data versions show."""
    fleet = fleets(ahead_ms=(0, 0, 150_000))
    fleet.live(1500)
    assert audited(fleet).exit_status == EXIT_NOTHING
    fleet.kill("n2")
    fleet.live(100)
    assert audited(fleet).exit_status == EXIT_NOTHING
    fleet.live(1300)
    outcome = audited(fleet)
    assert outcome.exit_status == EXIT_INCOMPLETE
    (sentence,) = outcome.incomplete
    assert sentence.startswith("n2 wrote nothing for the last ")
