"""``/metrics``: the families as text, in the format that every scraper reads."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate, chain, islice

from aiohttp import web
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from rocketns.admin.api.copies import copy_brokers
from rocketns.admin.metrics.table import THEMES, Family, MetricsScene, Tally
from rocketns.admin.view import ControlView
from rocketns.server.control.measures import Histogram, Measures

# A text is given to all who ask within this time: a thousand scrapers cost what one does.
TEXT_AGE_S = 1.0
encode, CONTENT_TYPE = choose_encoder("")  # whoever wants another format takes this one as well
# More series of one family are left out, and counted: a label must not grow with topics, brokers or clients.
SERIES_MAX = 250
# A series with a longer label is left out, and its metric counted with those. No label is a name from the network.
LABEL_CHARACTERS_MAX = 128

CUT = "rocketns_metrics_cut_total"
CUT_MEANING = (
    "Metrics that had too many series, or too long labels, so that some were left out. Counted at each scrape."
)
MADE = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily, "histogram": HistogramMetricFamily}


def add(app: web.Application, view: ControlView) -> None:
    """Control only, before the server starts: from now on it counts."""
    app.router.add_get("/metrics", MetricsText(view).answer)


class MetricsText(Collector):
    """``answer`` is the handler."""

    scene: MetricsScene  # set before each scrape

    def __init__(self, view: ControlView) -> None:
        self._view = view
        self._measures, self._tally = Measures(), Tally()
        self._cut = 0
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        for own in (ProcessCollector, PlatformCollector, GCCollector):
            own(registry=self._registry)
        self._text: bytes | None = None
        self._making = asyncio.Lock()
        view.facts.measure(self._measures)
        view.facts.watch(self._tally.note)

    async def answer(self, _: web.Request) -> web.Response:
        """The text, at most TEXT_AGE_S old."""
        view = self._view
        async with self._making:
            if self._text is None:
                states = Counter[str](row.state for row in await view.copy(copy_brokers))
                self.scene = MetricsScene(view, view.facts, view.gate, self._measures, self._tally, states)
                self._text = encode(self._registry)
                asyncio.get_running_loop().call_later(TEXT_AGE_S, self._forget)
            return web.Response(body=self._text, headers={"Content-Type": CONTENT_TYPE})

    def _forget(self) -> None:
        self._text = None

    def collect(self) -> Iterator[Metric]:
        """All families, as the client library asks for them."""
        for family in chain.from_iterable(THEMES.values()):
            metric, is_whole = metric_of(family, self.scene)
            self._cut += not is_whole
            yield metric
        yield CounterMetricFamily(CUT, CUT_MEANING, value=self._cut)


def metric_of(family: Family, scene: MetricsScene) -> tuple[Metric, bool]:
    """A family with its samples, as the client library has it, and whether none is left out."""
    metric: Metric = MADE[family.kind](family.name, family.meaning, labels=tuple(family.labels))
    found = family.read(scene)
    samples = found if isinstance(found, Mapping) else {} if found is None else {(): found}
    shown = 0
    for key, value in islice(samples.items(), SERIES_MAX):
        labels = (key,) if isinstance(key, str) else key
        if max(map(len, labels), default=0) > LABEL_CHARACTERS_MAX:
            continue
        shown += 1
        if isinstance(value, Histogram):
            metric.add_metric(labels, buckets_of(value), value.total)  # type: ignore[attr-defined]
        else:
            metric.add_metric(labels, value)  # type: ignore[attr-defined]
    return metric, shown == len(samples)


def buckets_of(measured: Histogram) -> list[tuple[str, float]]:
    """Prometheus' buckets: each contains those before it."""
    bounds = [*(f"{bound:g}" for bound in measured.bounds), "+Inf"]
    return list(zip(bounds, accumulate(measured.counts), strict=True))
