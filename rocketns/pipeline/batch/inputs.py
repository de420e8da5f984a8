"""What jobs ask for by name: options, events, and tables of jobs that ran before.

contract.job.INPUTS describes each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from threading import RLock
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.job import Job
from rocketns.pipeline.jobs.fleet.census import asked
from rocketns.pipeline.jobs.fleet.growth import sizes
from rocketns.pipeline.jobs.history.clocks import corrected
from rocketns.pipeline.jobs.history.state import Base, base
from rocketns.pipeline.jobs.history.strays import late_days, steadied, suspects
from rocketns.pipeline.jobs.topics import system_topics, without_unread
from rocketns.pipeline.storage.results import Results

JOBS_PACKAGE = "rocketns.pipeline.jobs"


def function_of(job: Job) -> Callable[..., DataFrame]:
    """The function that the catalogue names."""
    module, _, name = job.function.rpartition(".")
    found: Callable[..., DataFrame] = getattr(import_module(f"{JOBS_PACKAGE}.{module}"), name)
    return found


class Inputs:
    """Each input is made when the first job asks for it. ``told``: EVENTS by each name server's own clock."""

    def __init__(
        self, results: Results, told: DataFrame, files: DataFrame, observation: Observation, options: Mapping[str, Any]
    ) -> None:
        self._results, self._told, self._observation = results, told, observation
        given = {"files": files, "observation": observation, "keep": results.cut, "hold": results.hold}
        self._made: dict[str, Any] = {**given, **options}
        self._making = RLock()  # stages that run at the same time may ask for the same input

    def of(self, job: Job) -> dict[str, Any]:
        """The arguments of a job's function."""
        return {name: self[name] for name in job.inputs}

    def __getitem__(self, name: str) -> Any:
        if name in BY_NAME:
            return self._results.frame(name)
        with self._making:
            if name not in self._made:
                self._made[name] = MAKERS[name](self)
            return self._made[name]

    def raw_events(self) -> DataFrame:
        begin, end = self._observation
        return self._told.where((F.col("ts") >= begin) & (F.col("ts") < end))

    def events(self) -> DataFrame:
        clocks, end = self["clock_days"], self._observation.t1
        events = corrected(self._told, clocks)
        late = events.where(F.col("dt").isin(late_days(self["files"], clocks, end)))
        return steadied(events, suspects(late, end), end)

    def base(self) -> Base:
        return base(self["events"], self._observation, keep=self._results.hold)

    def lookups(self) -> DataFrame:
        return self._results.cut(self["events"].where("ev = 'lookup'"))

    def asked(self) -> DataFrame:
        return self._results.cut(asked(self["lookups"], self._observation))

    def sizes(self) -> DataFrame:
        return self._results.cut(sizes(self["topic_intervals"], self._observation))

    def system_topics(self) -> DataFrame:
        return self._results.hold(system_topics(self["broker_intervals"]))

    def read_segments(self) -> DataFrame:
        return without_unread(self["topic_segments"], self["system_topics"], self["group_members"])


MAKERS: Mapping[str, Callable[[Inputs], Any]] = {
    "raw_events": Inputs.raw_events,
    "events": Inputs.events,
    "base": Inputs.base,
    "lookups": Inputs.lookups,
    "asked": Inputs.asked,
    "sizes": Inputs.sizes,
    "system_topics": Inputs.system_topics,
    "read_segments": Inputs.read_segments,
}
