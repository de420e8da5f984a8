"""`rocketns audit explain`: the route of a topic at a moment, by the tables of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch.run import Request, audit
from rocketns.pipeline.cli.audit import main
from rocketns.pipeline.contract.terms import BadInput
from rocketns.pipeline.explain import explained_route
from tests.pipeline.journals import DAY_START, SECOND, Broker, Journal, Record, topic, write_files

A = Broker("broker-a", "10.0.0.1:10911")
MEMBER = {"cluster": "c", "broker": "broker-a", "addr": "10.0.0.1:10911", "bid": 0, "acting": False}
CHANGED = {"ev": "tput", "broker": "broker-a", "cause": "observed", "topics": [topic("T", r=8)]}


def at(second: int) -> int:
    return DAY_START + second * SECOND


def watched() -> list[Record]:
    """A boot of an observer that begins with topic T on the broker, and sees a change between 95 s and 100 s."""
    told: list[tuple[int, dict[str, Any]]] = [
        (0, {"ev": "open", "ns": "n2", "file": 1, "rotate_s": 600}), (0, {"ev": "start", "ns": "n2", "observed": True}),
        (0, {"ev": "snap", "snap": 3, "part": 0, **MEMBER}),
        (0, {"ev": "snap", "snap": 3, "part": 1, "broker": "broker-a", "topics": [topic("T")]}),
        (0, {"ev": "snap", "snap": 3, "part": 2, "end": True}), (100, {**CHANGED, "since": at(95)}),
        (600, {"ev": "alive"}),
    ]  # fmt: skip
    return [{"boot": DAY_START // 1000, "seq": seq, "ts": at(s), **record} for seq, (s, record) in enumerate(told, 1)]


@pytest.fixture(scope="module")
def out(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of a run over a name server that loses a record and whose topic goes, one that is down from 50 s on, and one that
    was watched from outside."""
    folder = tmp_path_factory.mktemp("explained")
    journals = {ns: Journal(at(0), ns) for ns in ("n1", "down")}
    for journal in journals.values():
        journal.register(at(1), A, [topic("T")])
    journals["down"].stop(at(50))
    for second in range(30, 600, 30):
        journals["n1"].heartbeat(at(second), A)
        if second == 300:
            journals["n1"].lose(at(300))
    journals["n1"].delete(at(599), "broker-a", ["T"])
    journals["n1"].heartbeat(at(600), A)
    write_files({ns: journal.records for ns, journal in journals.items()} | {"n2": watched()}, folder / "journal")
    audit(spark, Request(str(folder / "journal"), str(folder / "out")), lambda _text: None)
    return str(folder / "out")


@pytest.mark.parametrize("by_spark", [False, True])
def test_it_says_since_when_each_name_server_had_which_route(spark: SparkSession, out: str, *, by_spark: bool) -> None:
    assert explained_route(spark if by_spark else None, out, "T", at(200)) == [
        "T at 2026-01-01T00:03:20.000Z",
        "the clock of down counts as +0 s off (known not at all)",
        "times are those of the clock of n1",
        "the clock of n2 counts as +0 s off (known not at all)",
        "down: not known: it was down or not watched, or its journal has nothing of that time",
        "n1:",
        "  broker-a: 4 read queues, 4 write queues, perm 6; 0 10.0.0.1:10911",
        "    since 2026-01-01T00:00:01.000Z (register)",
        "n2:",
        "  broker-a: 8 read queues, 4 write queues, perm 6; 0 10.0.0.1:10911",
        "    since a moment between 2026-01-01T00:01:35.000Z and 2026-01-01T00:01:40.000Z (observed)",
    ]


@pytest.mark.parametrize(("second", "said"), [(95, False), (96, True), (99, True), (100, False)])
def test_between_the_looks_it_says_that_the_change_may_have_come(out: str, second: int, said: bool) -> None:
    lines = explained_route(None, out, "T", at(second))
    assert any("so maybe before this moment" in line for line in lines) is said
    assert any("8 read queues" in line for line in lines) is (second == 100)


def test_lost_records_and_an_absent_topic_are_said(out: str) -> None:
    loss = "  records are missing since 2026-01-01T00:04:30.000Z, so this may be out of date"
    assert [loss in explained_route(None, out, "T", at(second)) for second in (200, 400)] == [False, True]
    assert "n1: no route, it answered that the topic does not exist" in explained_route(None, out, "T", at(599))


def test_a_moment_that_the_run_did_not_look_at_is_refused(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadInput, match=r"looked at 2026-01-01T00:00:00\.000Z to"):
        explained_route(None, out, "T", at(-1))
    assert main(["explain", "T", "--at", "2027-01-01", "--out", out]) == 2
    assert main(["explain", "T", "--at", "2026-01-01T00:03:20", "--out", out]) == 0
    assert "broker-a: 4 read queues" in capsys.readouterr().out


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no results of an earlier run"):
        explained_route(None, str(tmp_path), "T", at(1))
