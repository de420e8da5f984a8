"""``python -m benchmarks.audit.history OUT [TIMES …]``: what jobs cost that follow from the intervals of the whole
observation, however many days were closed before.

OUT is the ``--out`` of an earlier run. Its tables are repeated as often as TIMES says, one observation after the other,
and jobs run over them, all in one Spark session: once, which is not counted, then in turn with nothing closed, and
after an earlier run closed all days but the last. Of several rounds the middle one is shown.
``marks``: what it takes to know that nothing changed; ``closing``: to write what a later run goes on from.
``--job NAME``, once or more, measures only these jobs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import TypeVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.audit.nightly import cpu_seconds
from rocketns.pipeline.batch.inputs import Inputs, function_of
from rocketns.pipeline.batch.run import Request, options
from rocketns.pipeline.cli.spark import LOCAL, QUIET
from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.defaults import MIN_WINDOW_US
from rocketns.pipeline.contract.earlier import Earlier
from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.job import Job
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.contract.times import DAY_US, exact_text
from rocketns.pipeline.jobs.earlier.settled import PAST, SETTLED, finished, marks, settled
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import Results
from rocketns.pipeline.storage.session import spark_session

MEASURED = ("key_windows", "incidents", "topic_segments", "impact", "imbalance", "ordered_keys")
GIVEN = (
    "topic_intervals", "broker_intervals", "ns_uptime", "topic_doubts", "clock_days", "group_members", *SETTLED,
)  # fmt: skip
Costs = dict[str, list[float]]
T = TypeVar("T")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit.history", description=__doc__)
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("times", nargs="*", type=int, default=[1, 10])
    parser.add_argument("--job", action="append", choices=MEASURED, help="only this job")
    parser.add_argument("--rounds", type=int, default=1, help="how often each is measured (default: 1)")
    asked = parser.parse_args()
    jobs = asked.job or MEASURED
    counted = (*jobs, "marks", "closing")
    spark = spark_session("local[2]", settings=QUIET | LOCAL, short=True)
    told = Results.published(spark, folder_at(spark, asked.out))
    [(first, last)] = told.frame("ns_uptime").agg(F.min("t1"), F.max("t2")).collect()
    days = -((first - last) // DAY_US)
    print(f"| Days | Intervals | Closed | {' | '.join(counted)} |\n|---:|---:|---|{'---:|' * len(counted)}", flush=True)
    for times in asked.times:
        with tempfile.TemporaryDirectory(prefix="rocketns-history-") as folder:
            results = Results(spark, folder_at(spark, folder))
            given = {name: results.save(name, repeated(told.frame(name), times, days)) for name in GIVEN}
            intervals = given["topic_intervals"].count()
            for closed, costs in measured(results, given, jobs, asked.rounds).items():
                shown = " | ".join(f"{median(costs[name]):.1f}" if name in costs else "" for name in counted)
                print(f"| {times * days} | {intervals:,} | {closed} | {shown} |", flush=True)


def repeated(table: DataFrame, times: int, days: int) -> DataFrame:
    """The rows so many times, each time so many days later. Tables without times are as they are."""
    if not {"t1", "t2"} <= set(table.columns):
        return table
    moved = table.withColumn("later", F.explode(F.lit([days * DAY_US * place for place in range(times)])))
    return moved.withColumns({name: F.col(name) + F.col("later") for name in ("t1", "t2")}).drop("later")


def measured(results: Results, given: dict[str, DataFrame], jobs: Sequence[str], rounds: int) -> dict[str, Costs]:
    """CPU seconds of each job in each round, without and with closed days."""
    [(last,)] = given["ns_uptime"].agg(F.max("t2")).collect()
    day = exact_text(last - DAY_US)[:10]
    past = {name: given[name] for name in (*PAST, "clock_days")}
    found: dict[str, Costs] = {"nothing": {}, "all but a day": {}}
    for place in range(rounds + 1):
        closing, earlier = taken(partial(_closed, results, given, day))
        marking, _ = taken(partial(marks, past, [day], MIN_WINDOW_US))
        whole = _costs(results, given, jobs, Earlier("", {}))
        after = _costs(results, given, jobs, earlier) | {"marks": marking, "closing": closing}
        for closed, costs in (("nothing", whole), ("all but a day", after)) if place else ():
            for name, cost in costs.items():
                found[closed].setdefault(name, []).append(cost)
    return found


def taken(work: Callable[[], T]) -> tuple[float, T]:
    """The cost, and the result."""
    before = cpu_seconds()
    done = work()
    return cpu_seconds() - before, done


def _closed(results: Results, given: dict[str, DataFrame], day: str) -> Earlier:
    frames = finished({name: given[name] for name in SETTLED}, day, MIN_WINDOW_US)
    return Earlier(day, {name: results.checkpoint(frame) for name, frame in frames.items()})


def _costs(results: Results, given: dict[str, DataFrame], jobs: Sequence[str], earlier: Earlier) -> dict[str, float]:
    spark = given["ns_uptime"].sparkSession
    [(first, last)] = given["ns_uptime"].agg(F.min("t1"), F.max("t2")).collect()
    events = frame_of(spark, [], EVENTS)
    known = settled(earlier, given["ns_uptime"], MIN_WINDOW_US) if earlier.day else None
    told = options(Request("", "")) | given | {"events": events, "settled": known}
    inputs = Inputs(results, events, events, Observation(first, last), told)
    return {name: taken(partial(_run, results, inputs, BY_NAME[name]))[0] for name in jobs}


def _run(results: Results, inputs: Inputs, job: Job) -> DataFrame:
    return results.checkpoint(function_of(job)(**inputs.of(job)))


if __name__ == "__main__":
    main()
