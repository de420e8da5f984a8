"""A family of metrics: its name, its meaning, and how its samples are read. docs/monitoring.md is made from these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rocketns.admin.metrics.tally import Sizes, Tally
from rocketns.admin.tokens import AdminGate
from rocketns.admin.view import Log, Pulse
from rocketns.server.control.measures import Histogram, Measures
from rocketns.server.facts import Facts

# More series of one family are left out, and counted: a label must not grow with topics, brokers or clients.
SERIES_MAX = 250
# A series with a longer label is left out, and its metric counted with those. No label is a name from the network.
LABEL_CHARACTERS_MAX = 128


@dataclass(frozen=True, slots=True)
class MetricsScene:
    """All sources. ``sizes`` is a copy; the others are read as they are now. ``log`` is None in tests."""

    facts: Facts
    measures: Measures
    tally: Tally
    pulse: Pulse
    gate: AdminGate
    sizes: Sizes
    log: Log | None = None


class MetricType(StrEnum):
    """Prometheus' types. The name of a counter ends in ``_total``, that of an info in ``_info``."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


# The values of the labels, in their order; and the number.
Sample = tuple[tuple[str, ...], "float | Histogram"]


@dataclass(frozen=True, slots=True)
class Family:
    """``labels``: the name of each label, and what its values are. ``read`` is for the management port's thread."""

    name: str
    kind: MetricType
    meaning: str
    read: Callable[[MetricsScene], Iterable[Sample]]
    labels: Mapping[str, str] = field(default_factory=dict)


def counter(
    name: str, meaning: str, read: Callable[[MetricsScene], Iterable[Sample]], labels: Mapping[str, str] | None = None
) -> Family:
    """A number that only grows."""
    return Family(name, MetricType.COUNTER, meaning, read, labels or {})


def gauge(
    name: str, meaning: str, read: Callable[[MetricsScene], Iterable[Sample]], labels: Mapping[str, str] | None = None
) -> Family:
    """A number that goes up and down."""
    return Family(name, MetricType.GAUGE, meaning, read, labels or {})


def histogram(
    name: str, meaning: str, read: Callable[[MetricsScene], Iterable[Sample]], labels: Mapping[str, str] | None = None
) -> Family:
    """Observations in buckets."""
    return Family(name, MetricType.HISTOGRAM, meaning, read, labels or {})


def single(read: Callable[[MetricsScene], float]) -> Callable[[MetricsScene], Iterable[Sample]]:
    """The reader of a family without labels."""
    return lambda scene: [((), read(scene))]
