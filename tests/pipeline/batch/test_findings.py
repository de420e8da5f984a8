"""What a run counts as a finding, its verdict, exit status and sentences, and what it takes over from closed days."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.batch.findings import RunOutcome, verdict
from rocketns.pipeline.batch.inputs import Inputs
from rocketns.pipeline.batch.reporting import figures, notes
from rocketns.pipeline.batch.reporting import findings as findings_in
from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.causes import CLOCKS, LOST_RECORDS
from rocketns.pipeline.contract.earlier import Earlier
from rocketns.pipeline.contract.exits import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_NOTHING, Verdict
from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, CLOCK_DAYS, NS_UPTIME, TOPIC_DOUBTS, TOPIC_INTERVALS
from rocketns.pipeline.jobs.earlier.keeping import Closing
from rocketns.pipeline.report.words.clocks import clock_notes
from rocketns.pipeline.storage.events.stored import Delivered
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import Results
from tests.pipeline.journals import SECOND as S

HOLE = "3 records of n1 are missing."


@pytest.mark.parametrize(
    ("findings", "incomplete", "expected", "status"),
    [
        ({"incidents": 0}, [], Verdict.NOTHING, EXIT_NOTHING),
        ({"incidents": 2}, [], Verdict.FINDINGS, EXIT_FINDINGS),
        ({"incidents": 0}, [HOLE], Verdict.INCOMPLETE, EXIT_INCOMPLETE),
        ({"incidents": 2}, [HOLE], Verdict.INCOMPLETE, EXIT_INCOMPLETE),
    ],
    ids=["nothing", "findings", "incomplete", "findings in incomplete input"],
)
def test_the_verdict_and_exit_status(
    findings: dict[str, int], incomplete: list[str], expected: Verdict, status: int
) -> None:
    outcome = RunOutcome(verdict(findings, incomplete), findings, incomplete, "report.html")
    assert (outcome.verdict, outcome.exit_status) == (expected, status)


def test_the_words_begin_with_the_headline_and_do_not_deny_it() -> None:
    """A planned stop is no finding. The page still begins with it."""
    stopped = RunOutcome(
        Verdict.NOTHING, {"incidents": 0}, [], "report.html", "ns-2 is stopped since 09:02 (still).", 1
    )
    assert stopped.lines == [
        "ns-2 is stopped since 09:02 (still).",
        "No finding, and 1 incident that is none: a name server was stopped or restarted.",
        "report: report.html",
    ]
    fine = RunOutcome(Verdict.NOTHING, {}, [], "report.html", "Nothing is wrong.")
    assert fine.lines == ["Nothing is wrong.", "Nothing found.", "report: report.html"]


DOUBTS = (None, LOST_RECORDS, CLOCKS)


class Tables:
    """Result tables by name; one that is not given is empty."""

    def __init__(self, spark: SparkSession, **rows: list[dict[str, Any]]) -> None:
        self._spark, self._rows = spark, rows

    def frame(self, name: str) -> DataFrame:
        schema = BY_NAME[name].schema
        told = [tuple(row.get(column) for column in schema.names) for row in self._rows.get(name, [])]
        return frame_of(self._spark, told, schema)


def tables(spark: SparkSession, **rows: list[dict[str, Any]]) -> Results:
    return cast(Results, Tables(spark, **rows))


def test_doubtful_rows_count_neither_as_findings_nor_as_figures(spark: SparkSession) -> None:
    """But they have figures of their own. Misses of system topics are none either."""
    kinds = ("user", "system", "retry")
    results = tables(
        spark,
        incidents=[{"broker": "b", "doubt": doubt} for doubt in DOUBTS],
        key_windows=[{"topic": "t", "kind": "user", "doubt": doubt} for doubt in DOUBTS],
        missing_topics=[{"topic": kind, "topic_kind": kind} for kind in kinds],
        ordered_keys=[{"topic": kind, "kind": kind} for kind in kinds],
    )
    assert findings_in(results)["incidents"] == 1
    told = figures(results)
    names = ("incidents", "windows", "lost_incidents", "lost_windows", "clock_incidents", "clock_windows")
    assert [told[name] for name in names] == [1] * len(names)
    assert (told["missing_hours"], told["ordered_topics"]) == (2, 1)
    clocks = [{"ns": "n1", "method": "versions", "uncertainty": 1}, {"ns": "n3", "method": "heartbeats",
              "uncertainty": 30 * S}]  # fmt: skip
    noted = notes(tables(spark, clock_offsets=clocks), 7, Delivered(1, 250, {}))
    assert noted.keys() == {"clocks", "quality"}
    assert "250 records came more than once, 1 whole file among them" in noted["quality"][0]


def test_clocks_that_nothing_bounds_are_said_with_what_follows() -> None:
    told = clock_notes([clock(ns, "heartbeats", 0, 30 * S) for ns in ("n3", "n2")])
    assert len(told) == 1
    for fact in ("n2, n3", "a multiple of 30 s", "off by 10 min at most", "marked “clocks”", "--clocks 1s"):
        assert fact in told[0]
    (told,) = clock_notes([{"ns": "n2", "method": "none", "uncertainty": None}])
    assert "Times of n2 were not corrected." in told


def clock(ns: str, method: str, offset_s: float, uncertainty: int, samples: int = 0) -> dict[str, Any]:
    """A row of OFFSETS."""
    return {"ns": ns, "method": method, "offset": offset_s * S, "uncertainty": uncertainty, "samples": samples}


DAY = "2026-01-01"
TABLES = {
    "topic_intervals": TOPIC_INTERVALS, "broker_intervals": BROKER_INTERVALS, "ns_uptime": NS_UPTIME,
    "topic_doubts": TOPIC_DOUBTS, "clock_days": CLOCK_DAYS,
}  # fmt: skip


class Fleet:
    """A run over tables without rows."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark, self._results = spark, Results(spark, folder_at(spark, folder))
        self._tables = {name: frame_of(spark, [], schema) for name, schema in TABLES.items()}

    def inputs(self, mark: str = "", **options: Any) -> Inputs:
        nothing = Earlier.nothing(self._spark)
        given: dict[str, Any] = {**self._tables, "min_window_us": 5, "earlier": Earlier(DAY, nothing.frames, mark)}
        events = nothing.frames["events"]
        return Inputs(self._results, events, events, Observation(0, 1), given | {"closing": Closing("")} | options)


@pytest.fixture(scope="module")
def fleet(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return Fleet(spark, str(tmp_path_factory.mktemp("out")))


def test_the_same_past_is_taken_over(fleet: Fleet) -> None:
    mark = fleet.inputs()["marks"][DAY]
    assert fleet.inputs(mark)["settled"] is not None
    assert fleet.inputs(f"{mark}1")["settled"] is None
    assert fleet.inputs(mark, earlier=fleet.inputs()["earlier"]._replace(day=""))["settled"] is None


def test_another_shortest_window_is_another_past(fleet: Fleet) -> None:
    assert fleet.inputs(min_window_us=6)["marks"] != fleet.inputs()["marks"]
