"""How the benchmark of the stream reads alerts and journals, and what its page says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.audit.streaming.alerts import CLOSED, STOPPED, Alerts, Fault, Told, row_of
from benchmarks.audit.streaming.month import arrivals_of, fleet
from benchmarks.audit.streaming.page import alerts, month

FAULT = Fault(CLOSED, "broker-00", "n2", 100.0, 110.0)


def line(kind: str, broker: str = "broker-00", event: str = "open") -> dict[str, Any]:
    return {"event": event, "kind": kind, "broker": broker}


def test_half_a_line_is_read_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    found = Alerts(path)
    found.look()
    text = json.dumps(line("partition")) + "\n"
    for part in (text[:9], text[9:]):
        assert not found.told
        with path.open("a") as file:
            file.write(part)
        found.look()
    assert [told.line for told in found.told] == [line("partition")]


def test_the_first_alert_of_each_kind_about_the_broker_counts(tmp_path: Path) -> None:
    journal = tmp_path / "v=1" / "dt=1970-01-01" / "ns=n2"
    journal.mkdir(parents=True)
    down = {"boot": 1, "seq": 2, "ts": 102_000_000, "ev": "down", "broker": "broker-00"}
    (journal / ".open-1-000001").write_text(json.dumps(down) + '\n{"ev":"down","broker":"broker-00', "utf-8")
    found = Alerts(tmp_path / "alerts.jsonl")
    found.told = [
        Told(104.0, line("divergence", "broker-01")),
        Told(105.0, line("divergence", event="close")),
        Told(108.0, line("divergence")),
        Told(112.0, line("divergence")),
    ]
    row = row_of(FAULT, found, tmp_path)
    assert (row["fault_to_down_s"], row["down_to_divergence_s"], row["down_to_partition_s"]) == (2.0, 6.0, None)


def test_the_page_says_how_often_there_was_no_alert() -> None:
    names = ("fault_to_down_s", "down_to_divergence_s", "down_to_partition_s", "lost_to_partition_s")
    rows = [{"fault": fault} | dict.fromkeys(names, seconds)
            for fault, seconds in ((CLOSED, 8.0), (CLOSED, 12.0), (CLOSED, None), (STOPPED, 3.0))]  # fmt: skip
    told = [text for text in alerts(rows) if text.startswith("| from the first")]
    assert [text.split(" | ")[1:] for text in told] == [["10.0 (8.00-12.0)", "2 of 3 |"], ["3.00", "1 of 1 |"]]


def test_the_page_compares_the_first_week_with_the_last() -> None:
    names = ("batch_s", "batch_cpu_s", "files", "checkpoint_kb", "shuffle_files", "python_mb", "java_mb", "heap_mb")
    rows = [{"day": day, "batches": 12} | dict.fromkeys(names, day) for day in range(1, 31)]
    assert next(text for text in month(rows) if text.startswith("| a batch")) == "| a batch, s | 4.00 | 11.0 | 27.0 |"


def test_every_file_arrives_once_and_in_the_order_of_time(tmp_path: Path) -> None:
    spec = fleet(2, 6)
    names = [(day, number) for day in range(2) for number in range(4)]
    for day, number in names:
        path = tmp_path / f"{day}-{number}.jsonl"
        path.write_text(
            json.dumps({"ts": (spec.start_ms + (day * 24 + number * 6) * 3_600_000) * 1000}) + "\n", "utf-8"
        )
    found = list(arrivals_of(tmp_path, spec, 6))
    assert [(day, [path.stem for path in files]) for day, files in found] == [
        (day, [f"{day}-{number}"]) for day, number in names
    ]
