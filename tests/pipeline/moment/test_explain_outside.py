"""`rocketns audit explain` on journals of name servers that were watched from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from rocketns.pipeline.moment.answers import explained_route
from rocketns.pipeline.moment.reading import of_ingested
from rocketns.pipeline.storage.events.manifest import Manifest, Part, State
from tests.pipeline.journals import DAY_START, SECOND, Record, events_table, topic, write_files

BOOT = DAY_START // 1000
MEMBER = {"cluster": "c", "broker": "b", "addr": "10.0.0.1:10911", "bid": 0, "acting": False}


def at(second: int) -> int:
    return DAY_START + second * SECOND


def watched(*changes: tuple[int, int, dict[str, Any]], stop: tuple[int, int] | None = None) -> list[Record]:
    """A boot of an observer that begins with topic T on broker b; changes: second, since which second, the record."""
    told: list[tuple[int, dict[str, Any]]] = [
        (0, {"ev": "open", "ns": "n", "file": 1, "rotate_s": 600}), (0, {"ev": "start", "ns": "n", "observed": True}),
        (0, {"ev": "snap", "snap": 3, "part": 0, **MEMBER}),
        (0, {"ev": "snap", "snap": 3, "part": 1, "broker": "b", "topics": [topic("T")]}),
        (0, {"ev": "snap", "snap": 3, "part": 2, "end": True}),
        *((second, {**record, "since": at(since)}) for second, since, record in changes),
    ]  # fmt: skip
    told += [(stop[0], {"ev": "stop", "since": at(stop[1])})] if stop else [(600, {"ev": "alive"})]
    return [{"boot": BOOT, "seq": seq, "ts": at(second), **record} for seq, (second, record) in enumerate(told, 1)]


CHANGED = {"ev": "tput", "broker": "b", "cause": "observed", "topics": [topic("T", r=8)]}


def explained(tmp_path: Path, second: int, **journals: list[Record]) -> list[str]:
    write_files(journals, tmp_path)
    return explained_route(None, str(tmp_path), None, "T", at(second))


def test_it_says_between_which_looks_a_route_changed(tmp_path: Path) -> None:
    lines = explained(tmp_path, 200, n1=watched((100, 95, CHANGED)))
    assert "times are those of the clock of what watched the name servers from outside" in lines
    assert "  b: 8 read queues, 4 write queues, perm 6; 0 10.0.0.1:10911" in lines
    assert any(
        "since a moment between 2026-01-01T00:01:35.000Z and 2026-01-01T00:01:40.000Z (observed;" in line
        for line in lines
    )


@pytest.mark.parametrize(("second", "said"), [(94, False), (95, False), (96, True), (99, True), (100, False)])
def test_between_the_looks_it_says_that_the_change_may_have_come(tmp_path: Path, second: int, said: bool) -> None:
    lines = explained(tmp_path, second, n1=watched((100, 95, CHANGED)))
    assert any("so maybe before this moment" in line for line in lines) is said
    assert any("8 read queues" in line for line in lines) is (second == 100)


def test_after_the_last_look_nothing_is_known(tmp_path: Path) -> None:
    lines = explained(tmp_path, 298, n1=watched(stop=(300, 295)))
    assert "n1: not known: it was not watched then, or its journal has nothing of that time" in lines
    assert "b: 4 read queues" in "\n".join(explained(tmp_path, 294, n1=watched(stop=(300, 295))))


def test_what_an_observer_began_with_is_known_from_its_snapshot_on(tmp_path: Path) -> None:
    assert "  b: 4 read queues, 4 write queues, perm 6; 0 10.0.0.1:10911" in explained(tmp_path, 1, n1=watched())


def test_events_that_an_older_rocketns_stored_lack_the_columns_of_observers(tmp_path: Path) -> None:
    table = events_table({"n1": watched()}).drop_columns(["since", "observed", "asked", "ns", "dt"])
    part = Part("data/batch=1/dt=2026-01-01/ns=n1", "2026-01-01", "n1", 1, 1, at(0), at(600))
    (tmp_path / part.path).mkdir(parents=True)
    pq.write_table(table, tmp_path / part.path / "part.parquet")
    Manifest(None, str(tmp_path)).publish(State(parts=[part]))
    found = list(of_ingested(None, str(tmp_path), at(0), at(700)))
    assert len(found) == table.num_rows
    assert {(record.get("since"), record.get("observed")) for record in found} == {(None, None)}


def test_of_a_name_server_that_lists_no_topics_no_route_is_known(tmp_path: Path) -> None:
    known = [one for one in watched() if not one.get("topics")]
    records = [one | {"seq": seq} | ({"no_topics": True, "part": 1} if one.get("end") else {})
               for seq, one in enumerate(known, 1)]  # fmt: skip
    lines = explained(tmp_path, 100, n1=records)
    assert "n1: not known: it was watched, but did not list its topics (enableAllTopicList)" in lines
