"""The control thread, its queues, and whether the server is ready."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.admin.metrics.family import Family, MetricsScene, Sample, counter, gauge, histogram, single


def _queues(scene: MetricsScene) -> Iterator[Sample]:
    yield ("requests",), scene.facts.waiting_requests
    yield ("unregistrations",), scene.facts.waiting_unregistrations
    yield ("files",), scene.facts.unwritten
    yield ("log",), 0 if scene.log is None else scene.log.waiting


def _queue_bytes(scene: MetricsScene) -> Iterator[Sample]:
    yield ("requests",), scene.facts.waiting_bytes
    yield ("reactors",), scene.facts.reactors.queued_bytes


FAMILIES: tuple[Family, ...] = (
    histogram("rocketns_control_turn_duration_seconds",
              "Length of a turn of the control thread, in which it answers requests.",
              lambda s: [((), s.measures.turns)]),
    counter("rocketns_control_slow_turns_total", "Turns of 0.1 s and more. The log says what took the time.",
            single(lambda s: s.facts.slow_turns)),
    gauge("rocketns_control_idle_seconds", "Time since the control thread's loop ran last. It runs every 0.25 s.",
          single(lambda s: s.pulse.age_s)),
    counter("rocketns_stalls_total", "Times that the process or its control thread did not run for a second or more.",
            single(lambda s: s.tally.changes["stalls"])),
    counter("rocketns_stalled_seconds_total", "Total length of these times, at most.",
            single(lambda s: s.tally.changes["stalled_ms"] / 1000)),
    gauge("rocketns_queue_length", "Entries that wait.", _queues,
          {"queue": "`requests` for control; `unregistrations`; `files`: changes of the KV and configuration files; "
           "`log`: lines"}),
    counter("rocketns_file_write_failures_total", "Writes of the KV or configuration file that failed. They are not "
            "repeated: the next change writes the whole file.", single(lambda s: s.facts.write_failures)),
    gauge("rocketns_queue_bytes", "Bytes that wait.", _queue_bytes,
          {"queue": "`requests` at control; `reactors`: frames from reactors that control has not decoded"}),
    counter("rocketns_log_dropped_records_total", "Log lines that were dropped because the log's reader is slow.",
            single(lambda s: 0 if s.log is None else s.log.dropped_total)),
    gauge("rocketns_ready", "1 if `/readyz` says ready, otherwise 0.",
          single(lambda s: float(s.facts.why_not_ready() is None))),
    gauge("rocketns_draining", "1 during a drain or a graceful shutdown, otherwise 0.",
          single(lambda s: float(s.facts.is_draining))),
    gauge("rocketns_reactors", "Threads that carry connections.",
          single(lambda s: s.facts.reactors.count)),
)  # fmt: skip
