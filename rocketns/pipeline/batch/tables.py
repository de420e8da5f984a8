"""Every job of a run, called in order; the result tables are written as they are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from threading import Event
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.batch.observing import Row, last_day_of_each
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import ReadFile
from rocketns.pipeline.jobs.access import admin_changes, new_addresses, refused_requests
from rocketns.pipeline.jobs.brokers import broker_stats
from rocketns.pipeline.jobs.clocks import clock_days, corrected
from rocketns.pipeline.jobs.departures import departures
from rocketns.pipeline.jobs.divergences import divergences
from rocketns.pipeline.jobs.impact import group_members, imbalance, impact
from rocketns.pipeline.jobs.quality import quality, sources, topic_doubts
from rocketns.pipeline.jobs.reach import late_days, suspects, with_repaired_times
from rocketns.pipeline.jobs.state import Base, base, broker_intervals, topic_intervals
from rocketns.pipeline.jobs.tallies import callers, counts, covered, gaps, hours
from rocketns.pipeline.jobs.topics import (
    clients,
    dead_topics,
    missing_topics,
    system_topics,
    topics,
    uncovered,
    user_topics_of_brokers,
    without_unread,
)
from rocketns.pipeline.jobs.unwritable import unwritable
from rocketns.pipeline.jobs.windows import key_windows, topic_segments
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.results import Results, materialized_if_small

# Planning a query takes one core; meanwhile the tasks of others use the rest.
AT_ONCE = 3

Say = Callable[[str], None]
Work = Callable[[], object]


class JobOptions(NamedTuple):
    """What a run computes with. Durations are us. ``clocks``: by how much clocks differ at most, if that is known."""

    min_window: int
    group_sizes: Sequence[int]
    dead_days: int
    clocks: int | None


class RunInput(NamedTuple):
    """What was read: EVENTS by each name server's own clock, the files, and the rows of CLOCK_DAYS."""

    events: DataFrame
    files: Sequence[ReadFile]
    clocks: Sequence[Row]


class BaseTables(NamedTuple):
    """What all other tables follow from. ``lookups``: the records of that kind; ``doubts``: TOPIC_DOUBTS;
    ``system_topics``: topics that brokers and clusters make for themselves; ``callers``: CALLERS."""

    events: DataFrame
    lookups: DataFrame
    base: Base
    brokers: DataFrame
    topics: DataFrame
    doubts: DataFrame
    system_topics: DataFrame
    callers: DataFrame
    clocks: DataFrame


def clocks_table(raw_events: DataFrame, seen: Observation, within: int | None, results: Results, say: Say) -> DataFrame:
    """The table ``clock_days``. ``raw_events`` and ``seen`` are by each name server's own clock."""
    say(_("clocks"))
    inside = raw_events.where((F.col("ts") >= seen.t0) & (F.col("ts") < seen.t1))
    return results.save("clock_days", clock_days(inside, within))


def other_tables(read: RunInput, seen: Observation, options: JobOptions, results: Results, say: Say) -> int:
    """All tables but ``clock_days``, which is there. Returns on how many of the last days lookups were not journalled
    by every name server."""
    say(_("state: name servers, brokers, topics"))
    state = _state(read, seen, results)
    say(_("divergence, departures, topics, and what is missing from the journals"))
    days: list[int] = []
    together(
        partial(_divergence, state, seen, options, results),
        partial(_brokers, state, seen, results),
        partial(_topics, state, seen, options, results, days),
        partial(_journals, state, read, seen, results),
    )
    return days[0]


def _state(read: RunInput, seen: Observation, results: Results) -> BaseTables:
    clocks = results.frame("clock_days")
    events = corrected(read.events, clocks)
    days = late_days(read.files, {(row["day"], row["ns"]): row["offset"] for row in read.clocks}, seen.t1)
    strays = suspects(events.where(F.col("dt").isin(days)), seen.t1) if days else {}
    events = materialized_if_small(with_repaired_times(events, strays, seen.t1))
    lookups = results.checkpoint(events.where("ev = 'lookup'"))
    known = base(events, seen)
    results.save("ns_uptime", known.uptime)
    together(
        lambda: results.save("broker_intervals", broker_intervals(events, known, seen)),
        lambda: results.save("topic_intervals", topic_intervals(events, known, seen)),
    )
    brokers, of_topics = results.frame("broker_intervals"), results.frame("topic_intervals")
    doubts = topic_doubts(events, known, of_topics, seen)
    return BaseTables(
        events, lookups, known, brokers, of_topics,
        doubts=results.checkpoint(doubts) if any(boot.holes for boot in known.boots) else doubts,
        system_topics=results.materialize(system_topics(brokers)),
        callers=results.materialize(callers(lookups, seen)),
        clocks=clocks,
    )  # fmt: skip


def _divergence(state: BaseTables, seen: Observation, options: JobOptions, results: Results) -> None:
    checkpoint, up = results.checkpoint, state.base.uptime
    windows = key_windows(
        state.topics, up, seen, options.min_window, state.brokers, checkpoint,
        topic_doubts=state.doubts, clock_days=state.clocks, system_topics=state.system_topics,
    )  # fmt: skip
    windows = results.save("key_windows", windows)
    results.save("divergences", divergences(windows, state.events))
    segments = results.save("topic_segments", topic_segments(state.topics, up, windows, seen, checkpoint))
    members = results.save("group_members", group_members(state.callers))
    read = without_unread(segments, state.system_topics, members)
    results.save("impact", impact(read, options.group_sizes, members, checkpoint))
    results.save("imbalance", imbalance(read, state.brokers))
    shut = unwritable(state.topics, state.system_topics, seen, options.min_window)
    results.save("unwritable", shut)


def _brokers(state: BaseTables, seen: Observation, results: Results) -> None:
    had = user_topics_of_brokers(state.topics, state.system_topics, seen)
    results.save("departures", departures(state.brokers, state.events, seen, state.clocks, had))
    beats = results.checkpoint(gaps(state.events, seen))
    results.save("broker_stats", broker_stats(state.brokers, beats, state.base.uptime, seen))
    results.save("admin_changes", admin_changes(state.events, seen))
    results.save("refused_requests", refused_requests(state.events, seen))
    results.save("new_addresses", new_addresses(state.events, seen))


def _topics(state: BaseTables, seen: Observation, options: JobOptions, results: Results, days: list[int]) -> None:
    up, system = state.base.uptime, state.system_topics
    every = results.save("topics", topics(state.topics, state.brokers, up, state.callers, system, seen))
    not_covered = results.materialize(uncovered(covered(state.lookups, seen), up, seen, options.dead_days))
    results.save("dead_topics", dead_topics(every, not_covered, seen, options.dead_days))
    results.save("missing_topics", missing_topics(results.materialize(hours(state.lookups, seen)), system))
    results.save("clients", clients(state.callers))
    days.append(not_covered.select("ago").distinct().count())


def _journals(state: BaseTables, read: RunInput, seen: Observation, results: Results) -> None:
    results.save("quality", quality(state.events, read.files, state.base, seen))
    results.save("sources", sources(counts(state.events, seen), read.files, last_day_of_each(read.clocks)))


def together(*works: Work) -> None:
    """Run them in this order, AT_ONCE at a time. After an error or Ctrl-C no other is begun; the error is raised when
    the running ones have ended."""
    ended = Event()

    def run(work: Work) -> None:
        if not ended.is_set():
            try:
                work()
            except BaseException:
                ended.set()
                raise

    with ThreadPoolExecutor(AT_ONCE) as threads:
        futures = [threads.submit(run, work) for work in works]
        try:
            wait(futures)
        except BaseException:  # Ctrl-C
            ended.set()
            raise
    for future in futures:
        future.result()
