"""Scrapes and their samples."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families


class Scraped:
    """The samples of one scrape: ``scraped("name", label="value")`` is a number, None if there is no such sample."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self.samples = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in self.families.values()
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float | None:
        return self.samples.get((name, tuple(sorted(labels.items()))))
