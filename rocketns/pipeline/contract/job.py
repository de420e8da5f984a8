"""What a row of the catalogue says about a result table, and the sections of the page."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import StructType

from rocketns.languages import N_
from rocketns.pipeline.contract.meanings import Meaning

# Sections of the page, in their order, with their titles.
SECTIONS = {
    "divergence": N_("Divergence"),
    "timeline": N_("Timeline and name servers"),
    "impact": N_("Consumer impact"),
    "imbalance": N_("Producer imbalance"),
    "brokers": N_("Brokers"),
    "departures": N_("Departures"),
    "topics": N_("Topics and lookups"),
    "clients": N_("Clients"),
    "access": N_("Administrators and access"),
    "quality": N_("Data quality"),
}


@dataclass(frozen=True)
class Finding:
    """What in a table counts as a finding. ``count``: SQL over the whole table; ``words``: what follows the number in
    the output. A run with any finding ends with exit status 1."""

    name: str
    count: str
    words: str


@dataclass(frozen=True)
class Job:
    """One result table. ``name``: its folder below results/. ``rows``: what one row is. ``order``: how rows are sorted
    where the page lists them, SQL expressions with an optional last word such as desc (a method of Column); empty where
    the page does not list the table."""

    name: str
    rows: str
    schema: StructType
    section: str
    meaning: Meaning
    order: tuple[str, ...] = ()
    finding: Finding | None = None
