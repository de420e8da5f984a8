"""The journals that the other tests use, and the session they run in."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from pyspark.sql import SparkSession

from rocketns.journal import record
from rocketns.pipeline.contract.schema import EVENTS
from tests.check.source import ROOT
from tests.pipeline.journals import SECOND, events_frame, random_journals, worked_example, write_files


def test_the_session_has_the_settings_that_the_jobs_count_on(spark: SparkSession) -> None:
    wanted = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    assert {key: spark.conf.get(key) for key in wanted} == wanted
    # A command that was run in this session before may have asked for more: only the start counts.
    assert spark.sparkContext.getConf().get("spark.driver.memory") == "1g"


def test_a_frame_of_events_has_every_column_of_the_journal(spark: SparkSession) -> None:
    frame = events_frame(spark, worked_example())
    assert frame.schema == EVENTS
    assert frame.where("ev = 'tput' and topics[0].r = 4").count() == 5


def test_the_worked_example_has_the_outage_of_the_definitions() -> None:
    down = [r for r in worked_example()["n2"] if r["ev"] == "down"]
    assert [(r["ts"] // SECOND, r["broker"], r["cause"], r["gap"]) for r in down] == [
        (185, "broker-b", "expired", 123_000)
    ]
    again = [r["ts"] // SECOND for r in worked_example()["n2"] if r["ev"] == "reg" and r["broker"] == "broker-b"]
    assert again == [2, 302]
    assert not [r for r in worked_example()["n1"] if r["ev"] == "down"]


def test_random_journals_are_the_same_for_the_same_seed_and_have_every_event() -> None:
    assert random_journals(7) == random_journals(7) != random_journals(8)
    seen = {r["ev"] for seed in range(20) for records in random_journals(seed).values() for r in records}
    beside = {"config", "drop", "doubt", "map", "group", "list", "live", "admin", "refused", "seal"}
    assert seen == set(record.KINDS) - beside


def test_sequence_numbers_have_no_hole_within_a_boot() -> None:
    for records in random_journals(3).values():
        last: dict[int, int] = {}
        for r in records:
            assert r["seq"] == last.get(r["boot"], 0) + 1
            last[r["boot"]] = r["seq"]


def test_random_journals_hold_what_the_contract_allows() -> None:
    for seed in range(20):
        for records in random_journals(seed).values():
            assert not [r for r in records if set(r) - {"boot", "seq", "ts", "ev", *record.KINDS[r["ev"]].columns}]
            members: set[tuple[Any, ...]] = set()
            for r in records:
                key = (r.get("cluster"), r.get("broker"), r.get("bid"), r.get("addr"))
                if r["ev"] == "start":
                    members.clear()
                elif r["ev"] in ("reg", "hb", "down"):
                    assert (key in members) == (r["ev"] != "reg")
                    (members.discard if r["ev"] == "down" else members.add)(key)


def test_files_hold_all_records_and_begin_with_open(tmp_path: Path) -> None:
    journals = random_journals(5)
    paths = write_files(journals, tmp_path)
    lines = [path.read_text("utf-8").splitlines() for path in paths]
    assert sum(map(len, lines)) == sum(map(len, journals.values()))
    assert len(paths) == len(set(paths)) > len(journals)
    assert all('"ev": "open"' in part[0] for part in lines)


@pytest.mark.parametrize("module", ["rocketns.__main__", "rocketns.startup"])
def test_the_name_server_loads_nothing_of_spark(module: str) -> None:
    code = f"import sys, {module}; print(*sorted(m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j')))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert out.stdout.strip() == ""


def test_the_tests_have_what_the_audit_needs() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    of_the_tests = {wanted.name: wanted for wanted in map(Requirement, extras["dev"])}
    for wanted in map(Requirement, extras["spark"]):
        assert of_the_tests[wanted.name].specifier == wanted.specifier
