"""The metrics of a shadow. docs/metrics.md is made from these too. No label is a text of a peer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, cast

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from rocketns.admin.metrics.exposition import metric
from rocketns.admin.metrics.family import Family, MetricType, Sample
from rocketns.shadow.counting.standing import Standing
from rocketns.shadow.pairs import UNWANTED, Outcome

Read = Callable[[Standing], Iterable[Sample]]


def _family(kind: MetricType, name: str, meaning: str, read: Read, labels: dict[str, str] | None = None) -> Family:
    """It is read from a Standing, where those of a name server are read from a Scene."""
    return Family(name, kind, meaning, cast(Any, read), labels or {})


counter, gauge = partial(_family, MetricType.COUNTER), partial(_family, MetricType.GAUGE)


def _single(read: Callable[[Standing], float]) -> Read:
    return lambda standing: [((), read(standing))]


def _pairs(standing: Standing) -> Iterable[Sample]:
    return ((labels, number) for labels, number in standing.counts.outcomes.items())


def _by_outcome(standing: Standing) -> Iterator[Sample]:
    for one in sorted(UNWANTED):
        yield (one,), standing.counts.of(one)


FAMILIES: tuple[Family, ...] = (
    counter("rocketns_shadow_pairs_total", "Pairs of answers by request and outcome.", _pairs, {
        "code": "the request code by Java's name; `unknown` for codes that a name server does not know",
        "outcome": ", ".join(f"`{one}`" for one in Outcome) + ": see docs/shadow.md",
    }),
    counter("rocketns_shadow_unwanted_total", "Pairs that differ, or of which an answer is late or missing: 0 where "
            "rocketns answers alike. An alert needs no more than this.", _by_outcome,
            {"outcome": ", ".join(f"`{one}`" for one in sorted(UNWANTED))}),
    counter("rocketns_shadow_listed_total", "Pairs that differ as docs/differences.md lists it.",
            lambda standing: [((name,), number) for name, number in standing.counts.listed.items()],
            {"id": "of the section"}),
    counter("rocketns_shadow_skipped_total", "Pairs that were not compared: the judge had no room, or they are too "
            "large.", _single(lambda standing: standing.counts.skipped)),
    gauge("rocketns_shadow_last_unwanted_timestamp_seconds", "When the last unwanted pair came; 0 for none.",
          _single(lambda standing: (standing.counts.different_ms or 0) / 1000)),
    gauge("rocketns_shadow_relay", "Numbers of the relay: connections, requests, and what became of them.",
          lambda standing: [((name,), value) for name, value in standing.relay.items()],
          {"of": "the name of the number, as in `/api/counts`"}),
)  # fmt: skip


class Metrics:
    """The families of a shadow, and its process'."""

    def __init__(self, stand: Callable[[], Standing]) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_Families(stand))
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def text(self) -> bytes:
        """In Prometheus' text format."""
        return generate_latest(self._registry)


class _Families(Collector):
    def __init__(self, stand: Callable[[], Standing]) -> None:
        self._stand = stand

    def collect(self) -> Iterator[Metric]:
        standing = cast(Any, self._stand())
        for family in FAMILIES:
            yield metric(family, family.read(standing))
