"""`rocketns audit`: a command line → what it runs → an exit status. Spark is imported when it is needed, not before."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from rocketns.pipeline.cli.arguments import EXIT_FAILED, EXIT_FINDINGS, EXIT_NOTHING, EXIT_USAGE, parse
from rocketns.pipeline.contract.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_MIN = 17
# Of a shuffle in one process: Spark's 200 would make more tasks than there is work in most tables.
LOCAL = {"spark.sql.shuffle.partitions": "16"}
# Compiling the plan of a small batch, and planning it again in each stage, takes longer than the batch.
SMALL_BATCHES = {"spark.sql.codegen.wholeStage": "false", "spark.sql.adaptive.enabled": "false",
                 "spark.sql.codegen.factoryMode": "NO_CODEGEN"}  # fmt: skip
QUIET = {"spark.log.level": "ERROR"}
MISSING_EXTRA = "{} is not installed, and the audit runs on it. In a checkout of rocketns: pip install '.[spark]'"
MISSING_JAVA = (
    f"Spark needs a Java runtime, version {JAVA_MIN} or newer, and {{}}. Install one (Debian, Ubuntu: apt-get install "
    "default-jre-headless), or point JAVA_HOME at the one to use."
)


def main(arguments: Sequence[str]) -> int:
    """Run ``rocketns audit <arguments>``; the exit status, which ``--help`` lists."""
    try:
        options = parse(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE
    say = Progress(time.monotonic)
    try:
        return HANDLERS[options.command](options, say)
    except BadInput as error:
        print(f"rocketns audit {options.command}: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print(f"rocketns audit {options.command}: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        print(f"rocketns audit {options.command} failed: {explained(error)}", file=sys.stderr)
        if os.environ.get("ROCKETNS_AUDIT_TRACE"):
            raise
        print("Set ROCKETNS_AUDIT_TRACE=1 to see where.", file=sys.stderr)
        return EXIT_FAILED


class Progress:
    """Says on standard error what is going on, with the seconds since the start."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._start = clock, clock()

    def __call__(self, text: str) -> None:
        print(f"{self.seconds():6.1f} s  {text}", file=sys.stderr, flush=True)

    def seconds(self) -> float:
        return self._clock() - self._start


def explained(error: BaseException) -> str:
    """The first lines of an error: Spark's carry a Java stack that says nothing to an operator."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return f"{type(error).__name__}: " + ("\n".join(lines[:6]) or "no message")


def session(
    options: argparse.Namespace, say: Progress, usual: Mapping[str, str] = MappingProxyType({})
) -> SparkSession:
    """Spark with the settings of the command line, else those of ``usual``; or BadInput that says what to install."""
    check_extra()
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit's Java process started this one
    if not submitted:
        check_java()
    from rocketns.pipeline.storage.session import spark_session

    say("starting Spark")
    settings = dict(options.conf)
    memory = settings.pop("spark.driver.memory", "2g")
    master = options.master or (None if submitted else "local[*]")
    local = LOCAL if master is not None and master.startswith("local") else {}
    spark = spark_session(master, memory=memory, settings=QUIET | local | dict(usual) | settings)
    spark.sparkContext.setLogLevel("ERROR")
    say(f"Spark {spark.version} on {spark.sparkContext.master}")
    return spark


def check_extra() -> None:
    """BadInput where pyspark or pyarrow is missing."""
    for module in ("pyspark", "pyarrow"):
        try:
            __import__(module)
        except ImportError as error:
            raise BadInput(MISSING_EXTRA.format(module)) from error


def check_java() -> None:
    """BadInput where Spark would find no Java runtime, or one that is too old for it."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except OSError as error:
        where = f"JAVA_HOME is {home}, which has none" if home else "there is no java on the PATH"
        raise BadInput(MISSING_JAVA.format(where)) from error
    match = re.search(r'version "(\d+)', shown)
    if match is None or int(match[1]) < JAVA_MIN:
        raise BadInput(MISSING_JAVA.format(f"{java} is {shown.splitlines()[0] if shown else 'not one'}"))


def _run(options: argparse.Namespace, say: Progress) -> int:
    spark = session(options, say)
    from rocketns.pipeline.batch.run import Request, audit

    request = Request(
        options.journal, options.out, options.t0, options.t1, options.min_window, options.groups, options.dead_days,
        options.csv,
    )  # fmt: skip
    outcome = audit(spark, request, say)
    print("\n".join(outcome.lines))
    return outcome.exit_status


def _ingest(options: argparse.Namespace, say: Progress) -> int:
    spark = session(options, say)
    from rocketns.pipeline.batch.run import ingest_only

    print(ingest_only(spark, options.journal, options.out, say))
    return 0


def _report(options: argparse.Namespace, say: Progress) -> int:
    spark = session(options, say)
    from rocketns.pipeline.batch.run import report_again

    print(f"report: {report_again(spark, options.out).report}")
    return 0


def _explain(options: argparse.Namespace, say: Progress) -> int:
    spark = session(options, say)
    from rocketns.pipeline.batch.answers import explained_route

    print("\n".join(explained_route(spark, options.journal, options.topic, options.at)))
    return 0


def _stream(options: argparse.Namespace, say: Progress) -> int:
    spark = session(options, say, SMALL_BATCHES)
    from rocketns.pipeline.stream.follow import Following, follow
    from rocketns.pipeline.stream.step import Limits

    limits = Limits(options.min_window, options.grace, options.silent_after)
    following = Following(
        options.journal, options.out, options.checkpoint, options.webhook, options.every, limits, options.once
    )
    follow(spark, following, say)
    return 0


def _demo(options: argparse.Namespace, say: Progress) -> int:
    spark = session(options, say)
    from rocketns.pipeline.cli.demo import demo

    shown = demo(spark, options.out, options.events, options.seed, say)
    print("\n".join(shown.lines))
    return EXIT_NOTHING if shown.right else EXIT_FINDINGS


HANDLERS: dict[str, Callable[[argparse.Namespace, Progress], int]] = {
    "run": _run,
    "ingest": _ingest,
    "report": _report,
    "explain": _explain,
    "stream": _stream,
    "demo": _demo,
}
