"""A fleet in which no data version ever changes, and the clock of a name server is ahead by a multiple of the heartbeat
period: a whole run over its journals finds what the truth tells, and says how badly the clock is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch.run import Request, audit
from rocketns.pipeline.cli.demo import compared
from rocketns.pipeline.moment.answers import explained_route
from rocketns.pipeline.synthetic import FleetSpec, make_fleet
from rocketns.pipeline.synthetic.scenario.spec import NO_FAULTS

# Three heartbeat periods, and a tenth of a second.
AHEAD_S, PERIOD_S = 90, 30
# Both ends of a broker's life reach all name servers at once, 90 s apart by their clocks; the partition is real.
FAULTS = NO_FAULTS._replace(partitions=2, farewells=1, crashes=1, silent_deaths=1)
SPEC = FleetSpec(
    brokers=6, topics=12, seconds=3 * 3600, heartbeat_s=PERIOD_S, clock_spread_ms=100, ahead_s=(0, AHEAD_S), groups=1,
    faults=FAULTS,
)  # fmt: skip
KNOWN = f"known only up to a multiple of {PERIOD_S} s"


@pytest.mark.parametrize("seed", [3])
def test_differences_that_clocks_explain_are_no_findings(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    journal, out = str(tmp_path / "journal"), str(tmp_path / "out")
    truth = make_fleet(replace(SPEC, seed=seed), tmp_path / "journal")
    assert [server["offset_us"] // 1_000_000 for server in truth["name_servers"]][1] in (AHEAD_S - 1, AHEAD_S)
    outcome = audit(spark, Request(journal, out, truth["t0"], truth["t1"], truth["min_window"]), lambda _text: None)
    assert [str(verdict) for verdict in compared(spark, out, truth) if not verdict.good] == []
    assert outcome.findings["incidents"] == FAULTS.partitions
    assert outcome.findings["departures"] == FAULTS.partitions + FAULTS.crashes + FAULTS.silent_deaths

    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert summary["figures"]["clock_windows"] > 0
    for said in (
        "\n".join(outcome.lines),
        "\n".join(summary["notes"]["clocks"]),
        (tmp_path / "out" / "report.md").read_text("utf-8"),
        (tmp_path / "out" / "report.html").read_text("utf-8"),
    ):
        assert KNOWN in said
    at = (truth["t0"] + truth["t1"]) // 2
    said = "\n".join(explained_route(None, journal, out, "topic-00001", at))
    assert f"from heartbeats, known up to a multiple of {PERIOD_S} s" in said
