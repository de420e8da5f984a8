"""``python -m benchmarks.audit.history OUT [TIMES …]``: what jobs cost that follow from the intervals of the whole
observation, however many days were closed before.

OUT is the ``--out`` of an earlier run. Its intervals are repeated as often as TIMES says, one observation after the
other, and each job runs over them, all in one Spark session. The first size is run once before, and not counted.
A second line for each size tells what the jobs cost after an earlier run closed all days but the last.
"""

from __future__ import annotations

import argparse
import tempfile

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
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.contract.times import DAY_US, exact_text
from rocketns.pipeline.jobs.earlier.settled import PAST, finished, marks, settled
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.results import Results
from rocketns.pipeline.storage.session import spark_session

GIVEN = ("topic_intervals", "broker_intervals", "ns_uptime", "topic_doubts", "clock_days", "group_members")
MEASURED = ("key_windows", "incidents", "topic_segments", "impact", "imbalance", "ordered_keys")
COUNTED = (*MEASURED, "closed")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit.history", description=__doc__)
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("times", nargs="*", type=int, default=[1, 10])
    asked = parser.parse_args()
    spark = spark_session("local[2]", settings=QUIET | LOCAL, short=True)
    told = Results.published(spark, Folder(spark, asked.out))
    [(first, last)] = told.frame("ns_uptime").agg(F.min("t1"), F.max("t2")).collect()
    days = -((first - last) // DAY_US)
    print(f"| Intervals | Closed | {' | '.join(COUNTED)} |\n|---:|---|{'---:|' * len(COUNTED)}", flush=True)
    for place, times in enumerate([asked.times[0], *asked.times]):
        with tempfile.TemporaryDirectory(prefix="rocketns-history-") as folder:
            results = Results(spark, Folder(spark, folder))
            given = {name: results.keep(name, repeated(told.frame(name), times, days)) for name in GIVEN}
            intervals = given["topic_intervals"].count()
            for closed, costs in (
                ("nothing", measured(results, given)),
                ("all but a day", measured_after(results, given)),
            ):
                shown = " | ".join(f"{costs[name]:.1f}" if name in costs else "" for name in COUNTED)
                if place > 0:
                    print(f"| {intervals:,} | {closed} | {shown} |", flush=True)


def repeated(table: DataFrame, times: int, days: int) -> DataFrame:
    """The rows so many times, each time so many days later. Tables without times are as they are."""
    if not {"t1", "t2"} <= set(table.columns):
        return table
    moved = table.withColumn("later", F.explode(F.lit([days * DAY_US * place for place in range(times)])))
    return moved.withColumns({name: F.col(name) + F.col("later") for name in ("t1", "t2")}).drop("later")


def measured(results: Results, given: dict[str, DataFrame]) -> dict[str, float]:
    """CPU seconds of each job."""
    return _costs(results, given, Earlier("", {}))


def measured_after(results: Results, given: dict[str, DataFrame]) -> dict[str, float]:
    """The same after all days but the last are closed. ``closed``: what it takes to know that nothing changed."""
    [(last,)] = given["ns_uptime"].agg(F.max("t2")).collect()
    day = exact_text(last - DAY_US)[:10]
    frames = finished(results.frame("key_windows"), results.frame("topic_segments"), day, MIN_WINDOW_US)
    earlier = Earlier(day, {name: results.cut(frame) for name, frame in frames.items()})
    before = cpu_seconds()
    marks({name: given[name] for name in (*PAST, "clock_days")}, [day], MIN_WINDOW_US)
    marked = cpu_seconds() - before
    return {"closed": marked} | _costs(results, given, earlier)


def _costs(results: Results, given: dict[str, DataFrame], earlier: Earlier) -> dict[str, float]:
    spark = given["ns_uptime"].sparkSession
    [(first, last)] = given["ns_uptime"].agg(F.min("t1"), F.max("t2")).collect()
    events = frame_of(spark, [], EVENTS)
    known = settled(earlier, given["ns_uptime"], MIN_WINDOW_US) if earlier.day else None
    told = options(Request("", "")) | {"events": events, "settled": known}
    inputs = Inputs(results, events, events, Observation(first, last), told)
    costs = {}
    for job in (BY_NAME[name] for name in MEASURED):
        before = cpu_seconds()
        results.keep(job.name, function_of(job)(**inputs.of(job)))
        costs[job.name] = cpu_seconds() - before
    return costs


if __name__ == "__main__":
    main()
