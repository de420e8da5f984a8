"""The words of `rocketns audit`: sub-commands, options and help. What they mean to Spark is not known here."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NoReturn

EXIT_NOTHING, EXIT_FINDINGS, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_FAILED = 0, 1, 2, 3, 70

ABOUT = """\
Tell from the journals of a fleet of name servers what happened to its routes: when two name servers disagreed about a
topic, which queues had no consumer or two because of it, which brokers come and go, which topics nobody asks for.

A rocketns writes a journal where journalPath names a folder. Put the folders of all name servers together (they do not
overlap: each name server writes below ns=<its id>) and point --journal at the folder that holds v=1/.
"""

EXAMPLES = """\
Examples:
  rocketns audit demo
      make the journal of an invented fleet with known faults, audit it, and compare what was found with the truth
  rocketns audit run --journal /var/rocketns/journal --out /var/rocketns/audit
      everything: read the journals, run every job, write tables, summary.json and report.html below --out
  rocketns audit run --journal s3a://bucket/journal --out s3a://bucket/audit --master spark://spark:7077
      the same on a Spark cluster, with any path that it can read (or hand the module to spark-submit, see docs)
  rocketns audit explain order_topic --at 2026-11-21T14:03 --journal /var/rocketns/journal
      the route of order_topic on each name server at that moment
  rocketns audit stream --journal /var/rocketns/journal --out /var/rocketns/alerts --webhook http://localhost:8080/hook
      stay, and alert while it happens

Exit status:
  0 nothing found   1 findings   2 wrong usage or unreadable input   70 the audit itself failed
  3 the input is incomplete (lost records, holes, lines that do not parse, a silent name server): what was found is in
    the report, but what was not found may have happened. This comes before 1, and is never reported as clean.
"""

GROUP_MIN, GROUP_MAX = 2, 64  # one consumer always agrees with itself

DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|min|h|d)?")
UNIT_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "min": 60_000_000, "h": 3_600_000_000,
           "d": 86_400_000_000}  # fmt: skip


class Parser(argparse.ArgumentParser):
    """argparse, but a mistake shows the usage of the sub-command and where its help is."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n'{self.prog} --help' explains every option.\n")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options; ``command`` is the sub-command. SystemExit: 0 after help, 2 for what is not understood."""
    return build().parse_args(arguments)


def build() -> argparse.ArgumentParser:
    """The whole parser, also for the tests that hold the documentation to it."""
    parser = Parser(prog="rocketns audit", description=ABOUT, epilog=EXAMPLES, formatter_class=_Format)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for name, (line, text, options) in COMMANDS.items():
        command = commands.add_parser(name, help=line, description=text, formatter_class=_Format, allow_abbrev=False)
        for option in options:
            option(command)
    return parser


class _Format(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=24, width=110)


def instant(text: str) -> int:
    """Epoch us of an ISO date or time; UTC where no zone is given."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time: write 2026-11-21, 2026-11-21T14:03, 2026-11-21T14:03:05.25 or with a zone, ...+02:00"
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def duration(text: str) -> int:
    """Microseconds of 5s, 250ms, 2m, 1h, 7d; seconds where no unit is given."""
    match = DURATION.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration: write 5s, 250ms, 2m, 1h or 7d")
    return round(float(match[1]) * UNIT_US[match[2] or "s"])


def counts(text: str) -> tuple[int, ...]:
    """2,3,4 as sizes of consumer groups."""
    try:
        numbers = tuple(sorted({int(word) for word in text.split(",")}))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < GROUP_MIN or numbers[-1] > GROUP_MAX:
        raise argparse.ArgumentTypeError(
            f"{text!r}: write sizes of consumer groups from {GROUP_MIN} to {GROUP_MAX}, as in 2,3,4"
        )
    return numbers


def _journal(add: argparse.ArgumentParser) -> None:
    add.add_argument("--journal", required=True, metavar="PATH",
        help="folder that holds v=1/dt=.../ns=.../*.jsonl; any path that Spark can read")  # fmt: skip


def _out(add: argparse.ArgumentParser) -> None:
    add.add_argument("--out", required=True, metavar="PATH",
        help="folder to write to; made where it is absent, and what an earlier run left is replaced")  # fmt: skip


def _span(add: argparse.ArgumentParser) -> None:
    add.add_argument("--from", dest="t0", type=instant, metavar="TIME",
        help="start of the observation, UTC unless it has a zone (default: the first record)")  # fmt: skip
    add.add_argument("--to", dest="t1", type=instant, metavar="TIME",
        help="end of the observation, exclusive (default: just after the last record)")  # fmt: skip


def _spark(add: argparse.ArgumentParser) -> None:
    add.add_argument("--master", metavar="MASTER",
        help="Spark master, such as spark://host:7077 (default: local[*], or what spark-submit says)")  # fmt: skip
    add.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", type=setting,
        help="a setting of Spark, such as spark.driver.memory=3g; may be given several times")  # fmt: skip


def setting(text: str) -> tuple[str, str]:
    """spark.a.b=c as a pair."""
    name, equals, value = text.partition("=")
    if not name.startswith("spark.") or not equals:
        raise argparse.ArgumentTypeError(f"{text!r}: write spark.NAME=VALUE")
    return name, value


def _window(add: argparse.ArgumentParser) -> None:
    add.add_argument("--min-window", type=duration, default=5_000_000, metavar="DURATION",
        help="disagreements that are shorter are registration jitter and left out (default: 5s)")  # fmt: skip


def _consumers(add: argparse.ArgumentParser) -> None:
    add.add_argument("--groups", type=counts, default=(2, 3, 4), metavar="N,N",
        help="sizes of consumer groups that the impact is computed for, over every way in which their members may be "
             "spread over the name servers (default: 2,3,4). Groups whose members the journals name are judged as they "
             "were, whatever stands here")  # fmt: skip
    add.add_argument("--dead-days", type=int, default=7, metavar="DAYS",
        help="days without a lookup after which a topic is called dead (default: 7)")  # fmt: skip


def _tables(add: argparse.ArgumentParser) -> None:
    add.add_argument("--csv", action="store_true", help="write every result table as CSV too, beside the Parquet")


def _explain(add: argparse.ArgumentParser) -> None:
    add.add_argument("topic", metavar="TOPIC", help="name of the topic")
    add.add_argument("--at", required=True, type=instant, metavar="TIME", help="the moment, UTC unless it has a zone")


def _stream(add: argparse.ArgumentParser) -> None:
    add.add_argument("--checkpoint", metavar="PATH",
        help="folder of the stream's memory; a restart goes on from it (default: checkpoint below --out)")  # fmt: skip
    add.add_argument("--webhook", metavar="URL", help="http or https address that each alert is posted to as JSON")
    add.add_argument("--every", type=duration, default=5_000_000, metavar="DURATION",
        help="how often arrived files are looked for (default: 5s)")  # fmt: skip
    add.add_argument("--grace", type=duration, default=8_000_000, metavar="DURATION",
        help="how late a heartbeat may be at one name server before a partition is alerted (default: 8s)")  # fmt: skip
    add.add_argument(
        "--silent-after", type=duration, default=60_000_000, metavar="DURATION",
        help="how far a journal may lag behind the others before its name server counts as silent (default: 60s)",
    )  # fmt: skip
    add.add_argument("--once", action="store_true", help="work through what is there, then stop")


def _demo(add: argparse.ArgumentParser) -> None:
    add.add_argument("--out", default="rocketns-demo", metavar="PATH",
        help="folder for the journal, the truth about it and the report (default: rocketns-demo)")  # fmt: skip
    add.add_argument("--events", type=int, metavar="N", help="about how many records to make")
    add.add_argument("--seed", type=int, default=1, metavar="N", help="another seed makes other faults (default: 1)")


COMMANDS = {
    "run": ("everything from the journals to the report",
        "Read the journals, run every job, write result tables, summary.json and report.html below --out.",
        (_journal, _out, _span, _window, _consumers, _tables, _spark)),
    "ingest": ("only read the journals into Parquet",
        "Read journal files into Parquet below --out, by day and name server. A file is read once however often this "
        "runs;\n'run' does it by itself.",
        (_journal, _out, _spark)),
    "report": ("write the report again from the tables of an earlier run",
        "Write report.html again from the result tables and summary.json that 'run' left below --out.",
        (_out, _spark)),
    "stream": ("stay, and alert while it happens",
        "Follow the journals as files arrive. Each alert is a line in alerts.jsonl below --out when it opens\n"
        "and one when it closes. Stop it with Ctrl-C or SIGTERM and start it again: it goes on where it was.",
        (_journal, _out, _stream, _window, _spark)),
    "explain": ("the route of a topic at a moment, on each name server",
        "Say what each name server would have answered for TOPIC at a moment in the past, and which record made it so.",
        (_explain, _journal, _spark)),
    "demo": ("audit an invented fleet with known faults",
        "Make the journal of an invented fleet with seeded faults, audit it, and compare the result with the truth.\n"
        "Exit status 0: every fault was found and none invented.",
        (_demo, _spark)),
}  # fmt: skip
