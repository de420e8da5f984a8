"""What a row of the catalogue says about a job, and the names that rows may use: stages, sections, inputs."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import StructType

from rocketns.languages import N_
from rocketns.pipeline.contract.meanings import Meaning

CLOCKS = "clocks"
# Steps of a run, each with its line of progress. The first one comes before all others.
STAGES = {
    CLOCKS: N_("clocks"),
    "state": N_("state: name servers, brokers, topics"),
    "divergence": N_("divergence: windows in which name servers disagree"),
    "impact": N_("impact: effects on consumers and producers"),
    "input": N_("what is missing from the journals"),
    "brokers": N_("brokers and departures"),
    "topics": N_("topics and lookups"),
    "fleet": N_("clients, error budgets, single points of failure, storms, growth, administrators"),
}

# Sections of the page, in their order, with their titles.
SECTIONS = {
    "divergence": N_("Divergence"),
    "timeline": N_("Timeline and name servers"),
    "impact": N_("Consumer impact"),
    "imbalance": N_("Producer imbalance"),
    "availability": N_("Error budgets"),
    "brokers": N_("Brokers"),
    "departures": N_("Departures"),
    "topics": N_("Topics"),
    "lookups": N_("Lookups"),
    "clients": N_("Clients"),
    "blast": N_("Blast radius"),
    "storms": N_("Registration storms"),
    "ordered": N_("Ordered keys"),
    "growth": N_("Growth"),
    "access": N_("Administrators and access"),
    "quality": N_("Data quality"),
}

# What a job may ask for beside tables of other jobs.
INPUTS = {
    "estimates": "history.clocks.ESTIMATES of the days that are not closed",
    "events": "EVENTS with corrected times; of closed days only those that later days need",
    "gaps": "GAPS: heartbeat gaps of each broker at each name server",
    "counts": "COUNTS: records of each name server",
    "callers": "CALLERS: what each caller asked each name server for",
    "hours": "HOURS: lookups of each topic in each hour",
    "covered": "COVERED: hours in which each name server journalled lookups",
    "heard": "HEARD: the first heartbeat of a broker after its departure began, at each name server",
    "clocks_within_us": "by how much the operator says that clocks differ at most, or None",
    "earlier_clocks": "journal.reading.clockdays.Clocks of the closed days",
    "asked": "fleet.census.asked: what each client asked for",
    "sizes": "fleet.growth.sizes: topics and bytes of each broker's registration, day by day",
    "files": "FILES",
    "base": "history.state.Base: boots, holes, snapshots and uptime",
    "observation": "the time that the run looks at",
    "keep": "writes a frame and reads it back, which keeps plans small",
    "hold": "the same for a frame of few rows, which become a part of the plan",
    "settled": "windows, segments and imbalance of closed days that no later day changes; None if there are none",
    "system_topics": "topics that brokers and clusters make for themselves",
    "read_segments": "TOPIC_SEGMENTS without system topics that no group reads",
    "min_window_us": "option --min-window",
    "group_sizes": "option --groups",
    "dead_days": "option --dead-days",
    "target_percent": "option --target",
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
    """One result table and the function that computes it.

    ``function``: dotted name below rocketns.pipeline.jobs; its parameters are tables of other jobs, or names of INPUTS.
    Its last part names the table, and its folder below results/. ``rows``: what one row is. ``order``: how rows are
    sorted where the page lists them, SQL expressions with an optional last word such as desc (a method of Column);
    empty where the page does not list the table.
    """

    function: str
    rows: str
    schema: StructType
    stage: str
    section: str
    meaning: Meaning
    order: tuple[str, ...] = ()
    finding: Finding | None = None

    @property
    def name(self) -> str:
        return self.function.rpartition(".")[2]
