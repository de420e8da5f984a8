"""What happened to a synthetic fleet is what whole runs find, and nothing else is: with a clock that is ahead by a
multiple of the heartbeat period, and watched from outside. test_cluster.py does it with every kind of fault."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rocketns.pipeline.batch.run import Request, audit
from rocketns.pipeline.contract.frames import plain_rows
from rocketns.pipeline.explain import explained_route
from rocketns.pipeline.storage.results import Results
from tests.pipeline.journals import SECOND
from tests.pipeline.synthetic import FleetSpec, make_fleet
from tests.pipeline.synthetic.audited import compared, published
from tests.pipeline.synthetic.scenario.spec import NO_FAULTS

# Three heartbeat periods, and a tenth of a second.
AHEAD_S, PERIOD_S = 90, 30
# Both ends of a broker's life reach all name servers at once, 90 s apart by their clocks; the partition is real.
ENDS = NO_FAULTS._replace(partitions=2, farewells=1, crashes=1, silent_deaths=1)
AHEAD = FleetSpec(
    brokers=6, topics=12, seconds=3 * 3600, heartbeat_s=PERIOD_S, clock_spread_ms=100, ahead_s=(0, AHEAD_S), groups=1,
    faults=ENDS,
)  # fmt: skip
UNKNOWN = "too few brokers changed their data version"


def test_differences_that_clocks_explain_are_no_findings(spark: SparkSession, tmp_path: Path) -> None:
    journal, out = str(tmp_path / "journal"), str(tmp_path / "out")
    truth = make_fleet(replace(AHEAD, seed=3), tmp_path / "journal")
    assert [server["offset_us"] // 1_000_000 for server in truth["name_servers"]][1] in (AHEAD_S - 1, AHEAD_S)
    outcome = audit(spark, Request(journal, out, truth["t0"], truth["t1"], truth["min_window"]), lambda _text: None)
    assert [str(verdict) for verdict in compared(spark, out, truth) if not verdict.good] == []
    assert outcome.findings["divergences"] == ENDS.partitions
    assert outcome.findings["departures"] == ENDS.partitions + ENDS.crashes + ENDS.silent_deaths

    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert summary["figures"]["clock_windows"] > 0
    for said in (
        "\n".join(outcome.lines),
        "\n".join(summary["notes"]["clocks"]),
        (tmp_path / "out" / "report.md").read_text("utf-8"),
        (tmp_path / "out" / "report.html").read_text("utf-8"),
    ):
        assert UNKNOWN in said
    at = (truth["t0"] + truth["t1"]) // 2
    route = explained_route(None, out, "topic-00001", at)
    assert sum("counts as +0 s off (known not at all)" in line for line in route) == len(truth["name_servers"]) - 1
    assert sum("read queues, " in line for line in route) >= len(truth["name_servers"])


SEEN_FAULTS = NO_FAULTS._replace(
    partitions=2, lost_changes=1, lost_deletions=1, crashes=1, farewells=1, silent_deaths=1, changes=2, restarts=1
)
LOOK_S, ROUND_S = 5, 100


def spec(*observed: int, seed: int = 3) -> FleetSpec:
    return FleetSpec(brokers=6, topics=12, seconds=6 * 3600, groups=1, observed=observed, look_s=LOOK_S,
                     round_s=ROUND_S, clock_spread_ms=0, faults=SEEN_FAULTS, seed=seed)  # fmt: skip


def told(truth: dict[str, Any]) -> Iterator[tuple[str, str, str, int, int]]:
    """Kind of fault, topic, broker, and the window that an audit of whole journals finds."""
    for fault in truth["faults"]:
        for window in fault["windows"]:
            for topic in window["topics"]:
                yield fault["kind"], topic, window["broker"], window["t1"], window["t2"]


def test_windows_are_within_the_looks_of_the_truth(spark: SparkSession, tmp_path: Path) -> None:
    """The second of three name servers writes its own journal. All clocks are right, as the option --clocks says."""
    observed = (0, 2)
    journal, out = str(tmp_path / "journal"), str(tmp_path / "out")
    truth = make_fleet(spec(*observed), tmp_path / "journal")
    asked = Request(journal, out, truth["t0"], truth["t1"], truth["min_window"], clocks=SECOND)
    outcome = audit(spark, asked, lambda _text: None)
    assert outcome.incomplete == []
    results = published(spark, out)
    windows = [row for row in plain_rows(results.frame("key_windows")) if row["doubt"] is None]
    within = SECOND  # a change does not reach all name servers at the same moment
    missed = []
    for kind, topic, broker, t1, t2 in told(truth):
        found = [
            row for row in windows if (row["topic"], row["broker"]) == (topic, broker) and _holds(row, t1, t2, within)
        ]
        # After a start of a name server its brokers register within seconds of each other.
        if not found and kind != "restart":
            missed.append((kind, topic, broker, (t2 - t1) / 1e6))
        windows = [row for row in windows if row not in found]
    assert missed == []
    assert [row for row in windows if not _after_start(row, truth)] == []
    _says_nothing_of_causes(results, observed, tmp_path / "out")


def _holds(row: dict[str, Any], t1: int, t2: int, within: int) -> bool:
    """Whether the truth lies between the looks that the window came and went between."""
    begun = row["t1"] - row["t1_early"] - within <= t1 <= row["t1"] + within
    return bool(begun and row["t2"] - row["t2_early"] - within <= t2 <= row["t2"] + within)


def _after_start(row: dict[str, Any], truth: dict[str, Any]) -> bool:
    """While a name server that was started again has not all brokers, windows of brokers run into each other."""
    return any(
        fault["t1"] - LOOK_S * 1_000_000 <= row["t1"] <= fault["t2"] + ROUND_S * 1_000_000
        for fault in truth["faults"]
        if fault["kind"] == "restart"
    )


def _says_nothing_of_causes(results: Results, observed: tuple[int, ...], out: Path) -> None:
    watched = {f"ns-{ns + 1}" for ns in observed}
    kinds = {row["kind"] for row in plain_rows(results.frame("departures")) if set(row["ns"]) <= watched}
    assert kinds <= {"observed", "partition", "unclear"}
    clocks = {row["ns"]: row["clock"] for row in plain_rows(results.frame("sources"))}
    assert {clocks[ns] for ns in watched} == {"observed"}
    listed = [json.loads(line) for line in (out / "incidents.jsonl").read_text("utf-8").splitlines()]
    assert not {one["kind"] for one in listed} & {"killed", "stopped", "silent"}
    assert "seen from outside: it began between" in (out / "report.md").read_text("utf-8")
