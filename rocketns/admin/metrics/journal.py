"""The journal, and what was restored from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rocketns.admin.metrics.family import Family, Sample, counter, gauge, single
from rocketns.admin.metrics.scene import Scene
from rocketns.server.facts.facts import JournalFacts


def _of(read: Callable[[JournalFacts], float]) -> Callable[[Scene], Iterable[Sample]]:
    """No sample without a journal."""
    return lambda s: [((), read(journal)) for journal in (s.facts.journal,) if journal is not None]


FAMILIES: tuple[Family, ...] = (
    counter("rocketns_journal_records_total", "Records of the journal, also dropped ones. Absent without a journal.",
            _of(lambda j: j.records)),
    counter("rocketns_journal_written_bytes_total", "Bytes that are on the disk.",
            _of(lambda j: j.written_bytes)),
    gauge("rocketns_journal_waiting_bytes", "Bytes that are not on the disk yet.",
          _of(lambda j: j.waiting_bytes)),
    counter("rocketns_journal_dropped_records_total", "Records that were lost because the buffer was full.",
            _of(lambda j: j.lost)),
    counter("rocketns_journal_write_failures_total", "Attempts to write that failed. They are repeated.",
            _of(lambda j: j.failures)),
    gauge("rocketns_journal_failing", "1 if the last attempt to write failed, otherwise 0.",
          _of(lambda j: float(j.is_failing))),
    gauge("rocketns_restored_brokers", "Brokers that the start took from the journal or from another name server.",
          single(lambda s: s.facts.tables.filled)),
    gauge("rocketns_start_duration_seconds", "Time until the server answered, restoring included. 0 until then.",
          single(lambda s: s.facts.start_s)),
)  # fmt: skip
