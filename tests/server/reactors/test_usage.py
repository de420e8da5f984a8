"""The measured use of threads and cores."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interop.harness.wire import eventually
from rocketns.server.reactors import usage
from rocketns.server.reactors.usage import Meter, Usage, idle_s

STAT = """cpu  10 0 10 5000 50 0 0 0 0 0
cpu0 1 2 3 1000 10 0 0 0 0 0
cpu1 1 2 3 2000 20 0 0 0 0 0
cpu12 1 2 3 4000 40 0 0 0 0 0
intr 1 2 3
"""


@contextmanager
def threads() -> Iterator[list[threading.Thread]]:
    """A thread that does nothing, and one that is always busy."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            pass

    started = [threading.Thread(target=over.wait), threading.Thread(target=work)]
    for thread in started:
        thread.start()
    try:
        yield started
    finally:
        over.set()
        for thread in started:
            thread.join()


def second_window(meter: Meter) -> Usage:
    found: list[Usage] = []

    def read() -> bool:
        if (one := meter.read()) is not None:
            found.append(one)
        return len(found) == 2

    eventually(read)
    return found[1]


def test_the_share_of_a_busy_thread_is_its_own() -> None:
    with threads() as started:
        idle, busy = second_window(Meter(started)).shares
    assert 0 <= idle < busy / 2  # where others have the cores, little is left for it
    assert busy < 1.1


def test_too_short_a_window_says_nothing() -> None:
    with threads() as started:
        meter = Meter(started)
        assert meter.read() is not None
        assert meter.read() is None


@pytest.mark.parametrize(("cores", "seconds"), [({0}, 10.1), ({1}, 20.2), ({0, 12}, 50.5)])
def test_idle_time_is_that_of_the_cores_of_this_process(tmp_path: Path, cores: set[int], seconds: float) -> None:
    (tmp_path / "stat").write_text(STAT, "ascii")
    assert idle_s(cores, tmp_path / "stat") == pytest.approx(seconds)


@pytest.mark.parametrize("text", [None, "", "cpu0 1 2\n", "cpu0 1 2 3 many 5\n", "cpu1 1 2 3 4 5\n"])
def test_idle_time_may_be_unknown(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "stat").write_text(text, "ascii")
    assert idle_s({0}, tmp_path / "stat") is None


def test_all_cores_count_as_idle_without_idle_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then reactors spread by their busy share alone."""
    monkeypatch.setattr(usage, "ASKED_FROM_SHARE", 0.0)
    monkeypatch.setattr(usage, "idle_s", lambda _cores: None)
    with threads() as started:
        meter = Meter(started)
        assert second_window(meter).idle == len(meter._cores)


def test_idle_time_is_not_read_while_no_reactor_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(usage, "idle_s", asked.append)
    with threads() as started:
        assert second_window(Meter(started[:1])).idle == 0.0
    assert asked == []


def test_after_a_window_without_a_look_at_idle_time_none_is_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The idle time at the start of the window was not read, so none of it counts."""
    monkeypatch.setattr(usage, "idle_s", lambda _cores: 1_000_000.0)
    with threads() as started:
        meter = Meter(started[:1])
        assert meter.read() is not None
        monkeypatch.setattr(usage, "ASKED_FROM_SHARE", 0.0)
        found: list[Usage] = []
        eventually(lambda: found.append(one) or True if (one := meter.read()) is not None else False)
    assert found[0].idle == 0.0


def test_before_the_threads_run_nothing_is_measured() -> None:
    """A restore that takes longer than the periodic job waits keeps the reactors from starting."""
    assert Meter([threading.Thread(), threading.Thread()]).read() is None
