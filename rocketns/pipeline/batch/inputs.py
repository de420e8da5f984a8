"""What jobs ask for by name: options, events, and the tables of other jobs.

contract.job.INPUTS describes each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.batch.promises import Promises
from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.job import Job
from rocketns.pipeline.jobs.departures import first_heard
from rocketns.pipeline.jobs.earlier.keeping import edge_of
from rocketns.pipeline.jobs.earlier.settled import PAST, Settled, marks, settled
from rocketns.pipeline.jobs.earlier.tallies import NEVER, callers, counts, covered, gaps, hours
from rocketns.pipeline.jobs.fleet.census import asked
from rocketns.pipeline.jobs.fleet.growth import sizes
from rocketns.pipeline.jobs.history.clocks import corrected, estimates
from rocketns.pipeline.jobs.history.state import Base, base
from rocketns.pipeline.jobs.history.strays import late_days, suspects, with_repaired_times
from rocketns.pipeline.jobs.topics import system_topics, without_unread
from rocketns.pipeline.storage.results import Results

JOBS_PACKAGE = "rocketns.pipeline.jobs"


def function_of(job: Job) -> Callable[..., DataFrame]:
    """The function that the catalogue names."""
    module = import_module(f"{JOBS_PACKAGE}.{job.function.rpartition('.')[0]}")
    function: Callable[..., DataFrame] = getattr(module, job.name)
    return function


def inputs_of(job: Job) -> list[str]:
    """What its function asks for."""
    return list(signature(function_of(job)).parameters)


class Inputs:
    """Each is made when it is first asked for, a table by its job.

    ``raw_events``: EVENTS after the closed days, by each name server's own clock. ``given``: inputs and tables
    that exist. ``begins`` is called before each job.
    """

    def __init__(
        self,
        results: Results,
        raw_events: DataFrame,
        files: DataFrame,
        observation: Observation,
        given: Mapping[str, Any],
        begins: Callable[[Job], None] | None = None,
    ) -> None:
        self._results, self._raw_events, self._observation = results, raw_events, observation
        self._begins = begins
        self._made = Promises({
            "files": files, "observation": observation, "keep": results.checkpoint, "hold": results.hold, **given,
        })  # fmt: skip

    def of(self, job: Job) -> dict[str, Any]:
        """The arguments of a job's function."""
        return {name: self[name] for name in inputs_of(job)}

    def __getitem__(self, name: str) -> Any:
        return self._made.get(name, partial(self._new, name))

    def make(self, tables: Iterable[str], at_once: int) -> None:
        """These tables, and what they follow from."""
        self._made.together([partial(self.__getitem__, name) for name in tables], at_once)

    def _new(self, name: str) -> Any:
        return self._table(BY_NAME[name]) if name in BY_NAME else MAKERS[name](self)

    def _table(self, job: Job) -> DataFrame:
        inputs = self.of(job)
        if self._begins is not None:
            self._begins(job)
        return self._results.save(job.name, function_of(job)(**inputs))

    def estimates(self) -> DataFrame:
        begin, end = self._observation
        raw_events = self._raw_events.where((F.col("ts") >= begin) & (F.col("ts") < end))
        return self._results.hold(estimates(raw_events, self._results.checkpoint, self._results.hold))

    def corrected(self) -> DataFrame:
        return corrected(self._raw_events, self["clock_days"])

    def new_events(self) -> DataFrame:
        """EVENTS of the days that are not closed."""
        events, end = self["corrected"], self._observation.t1
        late = events.where(F.col("dt").isin(late_days(self["files"], self["clock_days"], end)))
        return with_repaired_times(events, suspects(late, end), end)

    def events(self) -> DataFrame:
        events: DataFrame = self["new_events"]
        return events.unionByName(self["earlier"].frames["events"])

    def base(self) -> Base:
        return base(self["events"], self._observation, keep=self._results.hold, earlier=self["earlier"])

    def lookups(self) -> DataFrame:
        """The lookups of the days that are not closed."""
        return self._results.checkpoint(self["new_events"].where("ev = 'lookup'"))

    def gaps(self) -> DataFrame:
        found = gaps(self["events"], self._observation, self["earlier"].day, self["closing"].day)
        return self._results.checkpoint(found).unionByName(self["earlier"].frames["gaps"])

    def counts(self) -> DataFrame:
        return self._with_earlier("counts", counts(self["new_events"], self._observation, self["closing"].day))

    def callers(self) -> DataFrame:
        return self._with_earlier("callers", callers(self["lookups"], self._observation, self["closing"].day))

    def hours(self) -> DataFrame:
        return self._with_earlier("hours", hours(self["lookups"], self._observation, self["closing"].day))

    def covered(self) -> DataFrame:
        return self._with_earlier("covered", covered(self["lookups"], self._observation, self["closing"].day))

    def heard(self) -> DataFrame:
        since = edge_of(self["earlier"].day)
        closing = self["closing"].day
        found = first_heard(
            self["broker_intervals"], self["events"], self._observation, closing, since, self["clock_days"]
        )
        return self._with_earlier("heard", found)

    def _with_earlier(self, name: str, recent: DataFrame) -> DataFrame:
        """The rows of open days, and those that earlier runs kept of closed days."""
        return self._results.hold(recent).unionByName(self["earlier"].frames[name])

    def marks(self) -> dict[str, str]:
        """The marks of the last closed day, and of the last day that this run closes."""
        days = sorted({self["earlier"].day, self["closing"].day} - {NEVER})
        tables = {name: self[name] for name in (*PAST, "clock_days")}
        return marks(tables, days, self["min_window_us"]) if days else {}

    def settled(self) -> Settled | None:
        earlier = self["earlier"]
        if earlier.day == NEVER or self["marks"][earlier.day] != earlier.mark:
            return None
        return settled(earlier, self["ns_uptime"], self["clock_days"], self["min_window_us"])

    def asked(self) -> DataFrame:
        return self._results.checkpoint(asked(self["callers"]))

    def sizes(self) -> DataFrame:
        return self._results.checkpoint(sizes(self["topic_intervals"], self._observation))

    def system_topics(self) -> DataFrame:
        return self._results.hold(system_topics(self["broker_intervals"]))

    def read_segments(self) -> DataFrame:
        return without_unread(self["topic_segments"], self["system_topics"], self["group_members"])


# Makers that only other makers ask for. No job does.
STEPS = ("corrected", "new_events", "lookups", "marks")
MAKERS: Mapping[str, Callable[[Inputs], Any]] = {
    name: getattr(Inputs, name)
    for name in (
        *STEPS, "estimates", "events", "base", "gaps", "counts", "callers", "hours", "covered", "heard", "asked",
        "settled",
        "sizes", "system_topics", "read_segments",
    )
}  # fmt: skip
