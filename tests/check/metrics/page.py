"""docs/metrics.md: every metric, made from what the code declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocketns.admin.metrics.catalogue import THEMES
from rocketns.admin.metrics.exposition import CUT, CUT_MEANING
from rocketns.admin.metrics.family import SERIES_MAX, Family
from rocketns.server.control.measures import BOUNDS_S
from rocketns.shadow.status.metrics import FAMILIES as OF_THE_SHADOW
from tests.check.source import ROOT

PAGE = ROOT / "docs" / "metrics.md"

BOUNDS = ", ".join(f"{bound:g}" for bound in BOUNDS_S)
INTRODUCTION = f"""# Metrics

Made from the code by `python -m tests.check.metrics`; a test compares.
[operating.md](operating.md#management-port) says how to switch the management port on,
[metrics-beside-rust.md](metrics-beside-rust.md) which metric of rocketmq-rust each replaces.

`GET /metrics` answers in Prometheus' text format, or in OpenMetrics where the scraper asks for it. Units are seconds
and bytes. Counters begin with 0 at the start of the process. Histograms of times have these upper bounds, in seconds:
{BOUNDS}.

No label has names of topics, brokers or clients, so the number of series does not grow with them. More than
{SERIES_MAX} series of one metric are left out, and `{CUT}` counts that. All who ask within a second get the same text.

What is counted costs the reactors nothing but the lookups that are measured, about one in 64. Counting begins at the
start of the server and only where `rocketns.adminPort` is set.
"""

SHADOW = """
## The shadow

`GET /metrics` of `rocketns shadow --status` has these instead of those above, and the first line of the next section.
"""

PROCESS = """
## The process and Python

From the client library: `process_cpu_seconds_total`, `process_resident_memory_bytes`, `process_virtual_memory_bytes`,
`process_start_time_seconds`, `process_open_fds`, `process_max_fds`, `python_info`, `python_gc_objects_collected_total`,
`python_gc_objects_uncollectable_total`, `python_gc_collections_total`.
"""


def page() -> str:
    """The whole page."""
    themes = "".join(f"\n## {title}\n\n{_table(_rows(families))}\n" for title, families in THEMES.items())
    cut = f"`{CUT}` (counter): {CUT_MEANING}\n"
    return f"{INTRODUCTION}{themes}\n{cut}{SHADOW}\n{_table(_rows(OF_THE_SHADOW))}\n{PROCESS}"


def _rows(families: Iterable[Family]) -> Iterator[tuple[str, ...]]:
    for family in families:
        labels = "<br>".join(f"`{name}`: {values}" for name, values in family.labels.items())
        yield f"`{family.name}`", family.kind.value, family.meaning, labels


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    lines = (("Metric", "Type", "Meaning", "Labels"), ("---",) * 4, *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
