"""The benchmark of the management port: its figures, its page, and that its method works at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.admin import memory
from benchmarks.admin.cpu import interval
from benchmarks.admin.page import page
from benchmarks.loading.brokers import Shape

RESULT = {
    "when": "now", "machine": {"command": "c", "commit": "x", "cores": 2, "processor": "p", "Python": "3",
                               "load average before": 0.1},
    "memory_mb": {"without the port": 30.0, "with the port": 45.5, "with the page open": 50.0},
    "instructions": {"off": 1000.0, "on": 1001.0},
    "cpu_us": {"off": [1.0, 2.0, 4.0], "on": [1.01, 2.02, 4.04]},
    "storm_us": {"without the port": [{"p50": 1.0, "p99": 2.0, "sent p99": 3.0, "registrations/s": 4.0, "cores": 5.0}]},
}  # fmt: skip


def test_the_interval_is_of_ratios_of_rounds_and_contains_their_median() -> None:
    low_noise, ratio = [1.0, 2.0, 4.0, 8.0] * 5, 1.01
    assert [round(one, 6) for one in interval(low_noise, [one * ratio for one in low_noise])] == [ratio] * 3
    median, low, high = interval([1.0] * 20, [0.9, 1.1] * 10)
    assert (low, high) == (0.9, 1.1)
    assert low <= median <= high


def test_the_page_has_each_figure_beside_its_aim() -> None:
    text = page(RESULT)
    assert "| 1,000.0 | 1,001.0 | +0.10% | not more than +1 % |" in text
    assert "| 30.0 | 45.5 | +15.5 MB | not more than +40 MB |" in text
    assert "| without the port | 1.0 | 2.0 | 3.0 | 4.0 | 5.0 |" in text
    assert "valgrind is not installed" in page({key: RESULT[key] for key in RESULT if key != "instructions"})


def test_memory_is_read_with_and_without_the_port_and_with_the_page_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "OPEN_S", 0.0)
    monkeypatch.setattr(memory, "SHAPE", Shape(2, 10, 1))
    found = memory.resident(tmp_path)
    assert list(found) == ["without the port", "with the port", "after scrapes", "with the page open"]
    assert 10 < found["without the port"] < found["with the port"] < found["without the port"] + 100
