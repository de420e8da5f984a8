"""`rocketns audit stream`: alerts over arriving records, opened once and closed once, however journals are cut."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.jobs import state
from rocketns.pipeline.jobs.intervals import topic_intervals, topic_state
from rocketns.pipeline.jobs.windows import key_windows
from rocketns.pipeline.storage.results import materialized_if_small
from rocketns.pipeline.stream.follow import Following, follow
from rocketns.pipeline.stream.memory import (
    boots_in,
    members_at,
    partitions,
    servers_at_watermark,
    usual_us,
)
from rocketns.pipeline.stream.step import SCHEMAS, Memory, New, StreamLimits, step
from tests.pipeline.frames import cut
from tests.pipeline.journals import (
    DAY_START,
    SECOND,
    Broker,
    Journal,
    Journals,
    Record,
    events_frame,
    observed,
    random_journals,
    topic,
    worked_example,
    write_files,
)


def cut_at(journals: Journals, seconds: Sequence[int]) -> list[Journals]:
    """Parts by time: up to the first of ``seconds`` (since the epoch), up to the second, and so on."""
    ends = [second * SECOND for second in seconds]
    return [
        {ns: [record for record in records if before <= record["ts"] < end] for ns, records in journals.items()}
        for before, end in zip([0, *ends], ends, strict=False)
    ]


def as_files(journals: Journals, seconds: Sequence[int]) -> Journals:
    """The journals with an ``open`` record at each of ``seconds``, so that a file begins there."""
    return {ns: _rotated(records, seconds) for ns, records in journals.items()}


def _rotated(records: list[Record], seconds: Sequence[int]) -> list[Record]:
    found: list[Record] = []
    file = 1
    rotations = sorted(seconds)
    for record in records:
        if rotations and record["ts"] >= rotations[0] * SECOND:
            file += 1
            opened = {"ts": rotations.pop(0) * SECOND, "ev": "open", "ns": records[0]["ns"], "file": file}
            found.append({"boot": record["boot"], "seq": 0, **opened})
        found.append(dict(record))
    return [record | {"seq": number} for number, record in enumerate(found, 1)]


WINDOW = ("topic", "broker", "t1", "t2", "cause", "opened_by")
NEVER_SILENT = 2**50


def whole_windows(
    spark: SparkSession, journals: Journals, t0: int, t1: int
) -> set[tuple[str, str, int, int, str, str]]:
    """(topic, broker, t1, t2, cause, opened_by) of every window, however short."""
    events, seen = events_frame(spark, journals), Observation(t0, t1)
    with mock.patch.object(state, "SILENT_AFTER_US", NEVER_SILENT):
        known = state.base(events, seen)
    intervals = topic_intervals(topic_state(events, known, seen))
    found = key_windows(cut(intervals), known.uptime, seen, 1)
    return {tuple(row) for row in found.select(*WINDOW).collect()}


GRACE = 8 * SECOND
UNTIL = 101
# broker → when each name server hears it last, by which period; when and why n2 loses it; since when and why it is a
# partition of n2, if it is one.
Heard = tuple[int, int, int, tuple[int, str] | None, tuple[int, str] | None]
HEARD: dict[str, Heard] = {
    "late here, and it came there": (92, 62, 30, None, (62, "late")),
    "within the grace": (93, 63, 30, None, None),
    "heard by neither": (62, 62, 30, None, None),
    "heard by both": (92, 92, 30, None, None),
    "missed sooner, as it is heard every 10 s": (92, 72, 10, None, (72, "late")),
    "closed here, and heard elsewhere since": (92, 62, 30, (70, "channel_close"), (62, "channel_close")),
    "closed just now": (92, 62, 30, (97, "channel_close"), None),
    "closed here, and kept elsewhere": (63, 63, 30, (94, "channel_close"), (63, "channel_close")),
    "unregistered here": (92, 62, 30, (70, "unregister"), None),
}


def test_a_broker_that_one_name_server_does_not_hear_and_another_does_is_a_partition(spark: SparkSession) -> None:
    journals = {ns: Journal(0, ns) for ns in ("n1", "n2")}
    moments: list[tuple[int, str, Broker, tuple[int, str] | None]] = []
    for number, (name, (n1_last, n2_last, period, lost, _)) in enumerate(HEARD.items()):
        broker = Broker(name, f"10.0.0.{number}:10911")
        for ns, last in (("n1", n1_last), ("n2", n2_last)):
            moments += [(second, ns, broker, None) for second in range(last % period, last + 1, period)]
        if lost is not None:
            moments.append((lost[0], "n2", broker, lost))
    crashed = Broker("closed everywhere, as when it crashes", "10.0.1.1:10911")
    for ns in journals:
        moments += [(2, ns, crashed, None), (62, ns, crashed, None), (70, ns, crashed, (70, "channel_close"))]
    for second, ns, broker, lost in sorted(moments, key=lambda moment: moment[0]):
        if lost is None:
            journals[ns].register(second * SECOND, broker)
        else:
            journals[ns].down(second * SECOND, broker, lost[1])
    for journal in journals.values():
        journal.lookup(UNTIL * SECOND, "t", 1)
    events = events_frame(spark, {ns: journal.records for ns, journal in journals.items()})
    now = servers_at_watermark([], boots_in(events), None, 60 * SECOND)
    assert now.watermark == UNTIL * SECOND
    told = partitions(members_at([], events.where(F.col("ts") < now.watermark), now), now, GRACE)
    found = {row["broker"]: (row["ns"], row["by"], row["since"] // SECOND, row["cause"]) for row in told}
    assert found == {name: ("n2", ["n1"], *expected) for name, (*_, expected) in HEARD.items() if expected is not None}


@pytest.mark.parametrize(
    ("gaps", "seconds"),
    [
        ([], 30),
        ([30_000] * 3, 30),
        ([10_000] * 8, 10),
        ([500] * 8, 30),
        ([1_000, 45_000, 20_000], 45),
        ([10_000] * 3, 30),
    ],
)
def test_the_habit_is_the_largest_of_the_last_gaps_but_a_burst_is_none(gaps: list[int], seconds: int) -> None:
    assert usual_us(gaps) == seconds * SECOND


class Follower:
    """Takes parts of journals as batches and keeps every line."""

    def __init__(self, spark: SparkSession, limits: StreamLimits) -> None:
        self.spark, self.limits = spark, limits
        self.memory = Memory({name: frame_of(spark, [], schema) for name, schema in SCHEMAS.items()})
        self.lines: list[dict[str, Any]] = []

    def take(self, part: Journals) -> list[dict[str, Any]]:
        """The lines of one batch."""
        after: dict[str, DataFrame] = {}

        def store(name: str, frame: DataFrame) -> DataFrame:
            changed = frame is not self.memory.tables[name]
            after[name] = materialized_if_small(frame.select(*SCHEMAS[name].names)) if changed else frame
            return after[name]

        new = New(events_frame(self.spark, part))
        told, memory = step(self.memory, new, self.limits, store)
        assert set(after) == set(SCHEMAS)
        self.memory = Memory.of(after, json.loads(json.dumps(memory.plain())))
        self.lines += told
        return told


@pytest.mark.slow
def test_windows_are_those_of_a_whole_run_however_the_journals_are_cut(spark: SparkSession) -> None:
    journals = random_journals(11, start_us=0, seconds=1800)
    follower = Follower(spark, StreamLimits(min_window=0, silent_after=10**12))
    found = set()
    for part in cut_at(journals, [400, 900, 901, 10_000]):
        follower.take(part)
        found |= {tuple(row) for row in follower.memory.tables["windows"].select(*WINDOW).collect()}
    cut = follower.memory.watermark
    assert cut is not None
    ended = {window for window in found if window[3] is not None}
    start = observed(journals)[0]
    assert ended == {window for window in whole_windows(spark, journals, start, cut) if window[3] < cut}
    assert len(ended) > 20


def followed(spark: SparkSession, folder: Path) -> list[dict[str, Any]]:
    """Process the present files like a restarted process; returns every line so far."""
    journal, out = str(folder / "journal"), str(folder / "out")
    following = Following(journal, out, None, None, 1_000_000, StreamLimits(), once=True)
    follow(spark, following, lambda _: None)
    return [json.loads(line) for line in (folder / "out" / "alerts.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.slow
def test_alerts_are_written_once_over_restarts_crashes_and_replays(spark: SparkSession, tmp_path: Path) -> None:
    early, late = cut_at(as_files(worked_example(), [220]), [220, 400])
    write_files(early, tmp_path / "journal")
    opened = followed(spark, tmp_path)
    assert [(line["event"], line["kind"], line["cause"], line["batch"]) for line in opened] == [
        ("open", "partition", "expired", 0), ("open", "divergence", "expired", 0),
    ]  # fmt: skip
    assert (opened[1]["orphaned"], opened[1]["twice"]) == (5, 2)
    assert opened[1]["text"].endswith(". At worst 5 queues have no consumer, and 2 are consumed twice")
    assert followed(spark, tmp_path) == opened
    # a crash before all that a batch remembers was written
    (tmp_path / "out" / "checkpoint" / "memory" / "batch=0000000000" / "plain.json").rename(tmp_path / "unsealed")
    assert followed(spark, tmp_path) == opened

    write_files(late, tmp_path / "journal")
    closed = followed(spark, tmp_path)
    assert closed[:2] == opened
    assert {(line["event"], line["alert"]) for line in closed[2:]} == {("close", line["alert"]) for line in opened}

    file = tmp_path / "out" / "alerts.jsonl"
    before = file.read_bytes()
    file.write_bytes(before[: before.index(b"\n", before.index(b'"batch": 1')) - 9])  # a crash while it was written
    assert followed(spark, tmp_path) == closed
    assert file.read_bytes() == before


@pytest.mark.slow
def test_a_signal_ends_it_after_the_batch_it_is_in(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    early, _ = cut_at(as_files(worked_example(), [220]), [220, 400])
    write_files(early, tmp_path / "journal")

    def stop_at_the_first_alert(line: str) -> None:
        if line.startswith("open partition"):
            os.kill(os.getpid(), signal.SIGTERM)

    journal, out = str(tmp_path / "journal"), str(tmp_path / "out")
    following = Following(journal, out, None, None, 1_000_000, StreamLimits(), once=False)
    assert follow(spark, following, stop_at_the_first_alert) == 1
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(("late", "kinds"), [(6, set()), (30, {"divergence"})], ids=["at once", "12 min later"])
def test_a_difference_that_a_clock_explains_is_no_alert(
    spark: SparkSession, tmp_path: Path, late: int, kinds: set[str]
) -> None:
    """The clock of n2 is three heartbeats ahead, and --clocks says 2m. It hears of the change with beat ``late``."""
    broker, ahead = Broker("broker-a", "10.0.0.1:10911"), {"n1": 0, "n2": 90 * SECOND}
    for ns, offset in ahead.items():
        journal, changed = Journal(DAY_START + offset, ns), 6 if ns == "n1" else late
        for beat in range(1, 41):
            at = DAY_START + beat * 30 * SECOND + offset
            journal.register(at, broker, [topic("T", 8 if beat >= changed else 4)])
        write_files({ns: journal.records}, tmp_path / "journal")
    limits = StreamLimits(apart=120 * SECOND)
    following = Following(str(tmp_path / "journal"), str(tmp_path / "out"), None, None, 1_000_000, limits, once=True)
    follow(spark, following, lambda _line: None)
    lines = (tmp_path / "out" / "alerts.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["kind"] for line in lines} == kinds
