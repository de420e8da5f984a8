"""What the report is made from. Tables are small and plain: whoever collects them cuts them and says how many rows
there were and where the whole lies. No figure is computed from a cut table that needs the whole one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

Row = Mapping[str, Any]

# What a caller need not exceed: the page shows fewer rows of each table, and charts need no more.
ROWS_COLLECTED_MAX = 2_000


@runtime_checkable
class Columnar(Protocol):
    """The one method of a pyarrow table that is used, so that pyarrow is not imported for it."""

    def to_pylist(self) -> list[dict[str, Any]]: ...


@dataclass(frozen=True)
class Table:
    """Rows of one result frame, the important ones first. ``total``: rows of the whole; ``path``: where that lies,
    relative to the page (CSV or Parquet), '' if nowhere."""

    rows: Sequence[Row] = ()
    total: int = 0
    path: str = ""

    @classmethod
    def of(cls, data: Columnar | Iterable[Row], total: int | None = None, path: str = "") -> Table:
        """A table from pyarrow or from mappings; without ``total`` the rows given are all there are."""
        rows = data.to_pylist() if isinstance(data, Columnar) else list(data)
        return cls(tuple(rows), len(rows) if total is None else total, path)

    def __bool__(self) -> bool:
        return self.total > 0


class Verdict(StrEnum):
    """The answer of a run. Incomplete input is never called clean, whatever else was found."""

    NOTHING = "nothing"  # exit status 0
    FINDINGS = "findings"  # 1
    INCOMPLETE = "incomplete"  # 3


@dataclass(frozen=True)
class ReportInput:
    """Everything on the page. Times are epoch us, the observation is [t0, t1). A column that a row lacks or that is
    None shows as a dash; more columns than named here are ignored. The order of rows is kept."""

    t0: int
    t1: int
    verdict: Verdict

    # Why the input is incomplete, one sentence each; shown whenever there are any.
    incomplete: Sequence[str] = ()
    # As given on the command line and as defaulted, name to text: journal, groups, min_window, master ...
    options: Mapping[str, str] = field(default_factory=dict)
    # Figures of the whole run: events, files, name_servers, brokers, topics, seconds (the run's), and for each
    # strategy s in (averagely, circle): orphaned_qs_mean_<s>, orphaned_qs_max_<s>, dup_qs_mean_<s>, dup_qs_max_<s>.
    # One that is missing is not shown.
    figures: Mapping[str, float] = field(default_factory=dict)
    # Sentences for one section, e.g. {"topics": ["Lookups were journalled on 2 of 7 days: no topic is judged dead."]}.
    # Sections: incidents timeline impact imbalance brokers topics lookups departures quality.
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    # Columns: ns, boot, t1, t2, end_cause (stop | lost | open)
    ns_uptime: Table = Table()
    # ns, cluster, broker, bid, addr, t1, t2, end_cause, gap, timeout_ms: those of brokers that failed or diverged first
    broker_intervals: Table = Table()
    # Columns: topic, broker, t1, t2, cause, opened_by, gap, values [{ns, present, r, w, p}]: the longest first
    key_windows: Table = Table()
    # rocketns.pipeline.jobs.incidents: cause, broker, t1, t2, windows, topics, topic_sample [str], ns_without [str],
    # opened_by [str], longest (us), gap_max (ms): the longest first
    incidents: Table = Table()
    # Columns: topic, t1, t2, strategy, c, assignments, group (None for the model), queues, orphaned_/dup_ mean max,
    # *_qs_mean/max, *_ids, capped:
    # the largest orphaned_qs_max + dup_qs_max first
    impact: Table = Table()
    # Columns: topic, t1, t2, broker, share, fair, tvd, peak, no_share_ns: the largest tvd first
    imbalance: Table = Table()
    # ns, broker, bid, addr, up_s, availability, failures, graceful, flaps, mtbf_s, gap_p50 gap_p95 gap_p99 gap_max
    # (ms), gaps: the lowest availability first
    broker_stats: Table = Table()
    # day ("2026-08-03"), kind (user | system | retry | dlq), topics, queues: in the order of day
    topic_days: Table = Table()
    # topic, kind, brokers, queues, created, removed (times or None): kind user first, here and in the next three
    topic_inventory: Table = Table()
    # Columns: topic, kind, queues, created, last_lookup (time or None), days
    dead_topics: Table = Table()
    # Columns: topic, kind, rank, n, miss, share, per_s
    hot_topics: Table = Table()
    # topic, kind, brokers, r_min, r_max, r_mean, skew: the largest first; even topics (skew 1) may be among them
    skew: Table = Table()
    # Columns: topic, hour (us), kind (anomaly | new), miss, n, ns, median, mad, bound
    missing_topics: Table = Table()
    # Columns: broker, cluster, t1, t2, kind, ns, bids: in the order of t1
    departures: Table = Table()
    # Columns: kind (hole | drop | corrupt | silent | ...), ns, boot, t1, t2, n, detail
    quality: Table = Table()
    # what was read: ns, files, events, first, last (times), offset_us (clock), corrupt, lost
    sources: Table = Table()
