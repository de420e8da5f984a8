"""The options of `rocketns audit`: commands, options and help, and the values of options, checked: each error says what
to write. Nothing here needs Spark.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from rocketns.addresses import listed
from rocketns.journal.chain import HASH_CHARS
from rocketns.languages import parsers
from rocketns.pipeline.contract import terms
from rocketns.pipeline.saying import _
from rocketns.tools.arguments import DAY_S, seconds_of

GROUP_MIN, GROUP_MAX = 2, 64  # one consumer always agrees with itself
DAYS_MAX = 36_500  # as journalRetentionDays
TIMES_US = range(253_000_000_000 * 1_000_000)  # up to 9987: Python shows times before 10000, and some are added to it
HEAD = re.compile(rf"(?:([A-Za-z0-9._-]+):(\d{{1,18}}):(\d{{1,18}}):)?([0-9a-f]{{{HASH_CHARS}}})")


class ChainHead(NamedTuple):
    """The head of an earlier check. Without name server only the hash is known."""

    ns: str | None
    boot: int
    seq: int
    hash: str


def instant(text: str) -> int:
    """Epoch us of an ISO date or time from 1970 on, in UTC unless it has a zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            _(
                "%(text)r is not a time: write 2026-11-21, 2026-11-21T14:03 or 2026-11-21T14:03:05.25; a zone is added "
                "as in 2026-11-21T14:03+02:00"
            )
            % {"text": text}
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    us = (moment - terms.EPOCH) // timedelta(microseconds=1)
    if us not in TIMES_US:
        raise argparse.ArgumentTypeError(_("%(text)r: write a time after 1970 and before 9987") % {"text": text})
    return us


def duration(text: str) -> int:
    """Microseconds of 5s, 250ms, 1h30m or 7d; a number without a unit is seconds."""
    seconds = seconds_of(text.strip())
    if seconds is None:
        raise argparse.ArgumentTypeError(
            _("%(text)r is not a duration: write 5s, 250ms, 2m, 1h or 7d") % {"text": text}
        )
    if seconds > DAYS_MAX * DAY_S:
        raise argparse.ArgumentTypeError(
            _("%(text)r: write a duration of at most %(n)sd") % {"text": text, "n": DAYS_MAX}
        )
    return round(seconds * 1_000_000)


def counts(text: str) -> tuple[int, ...]:
    """Sizes of consumer groups, such as 2,3,4."""
    try:
        numbers = tuple(sorted({int(word) for word in listed(text)}))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < GROUP_MIN or numbers[-1] > GROUP_MAX:
        raise argparse.ArgumentTypeError(
            _("%(text)r: write sizes of consumer groups from %(least)s to %(most)s, such as 2,3,4")
            % {"text": text, "least": GROUP_MIN, "most": GROUP_MAX}
        )
    return numbers


def setting(text: str) -> tuple[str, str]:
    """spark.a.b=c as a pair."""
    name, equals, value = text.partition("=")
    if not name.startswith("spark.") or not equals:
        raise argparse.ArgumentTypeError(_("%(text)r: write spark.NAME=VALUE") % {"text": text})
    return name, value


def folder(text: str) -> str:
    """A path. Empty text is refused: an unset variable would name the root of the file system."""
    if not text.strip():
        raise argparse.ArgumentTypeError(_("the path is empty: name a folder"))
    return text


def head(text: str) -> ChainHead:
    """The head of a chain of hashes."""
    match = HEAD.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(
            _("%(text)r is no head: write one as 'rocketns audit verify' prints it") % {"text": text}
        )
    return ChainHead(match[1], int(match[2] or 0), int(match[3] or 0), match[4])


def day_count(text: str) -> int:
    """A number of days, from 1 to DAYS_MAX."""
    if not text.isdecimal() or len(text) > len(str(DAYS_MAX)) or not 1 <= int(text) <= DAYS_MAX:
        raise argparse.ArgumentTypeError(
            _("%(text)r: write a number of days from 1 to %(n)s") % {"text": text, "n": DAYS_MAX}
        )
    return int(text)


WIDTH = 110  # columns of the help
ABOUT = """\
Read the journals of several name servers and report what happened to routes: when two name servers disagreed about a
topic, which queues then had no consumer or two, which brokers come and go, which topics nobody looks up.

A rocketns name server writes a journal if journalPath names a folder. Copy the folders of all name servers into one
(they do not overlap: each name server writes below ns=<its id>), and set --journal to the folder that holds v=1/.
For name servers of Java, 'rocketns collect' writes such journals from outside.
"""

EXAMPLES = """\
Examples:
  rocketns audit demo
      audit a recorded journal that has an incident of each kind
  rocketns audit run --journal /var/rocketns/journal --out /var/rocketns/audit
      read the journals, run every job, and write tables, summary.json and report.html below --out
  rocketns audit run --journal s3a://bucket/journal --out s3a://bucket/audit --master spark://spark:7077
      the same on a Spark cluster, with any path that Spark can read (docs/audit.md shows the same with spark-submit)
  rocketns audit run --name-servers ns-1:9876,ns-2:9876 --for 10m --out ./audit
      watch name servers of any kind from outside for ten minutes, then audit what was seen
  rocketns audit explain order_topic --at 2026-11-21T14:03 --out /var/rocketns/audit
      the route of order_topic on each name server at that moment
  rocketns audit stream --journal /var/rocketns/journal --out /var/rocketns/alerts --webhook http://localhost:8080/hook
      keep running, and alert while it happens
  rocketns audit verify --journal /var/rocketns/journal
      check that no line of the journals was changed or removed

Exit status:
  0 nothing found   1 findings   2 wrong usage or unreadable input   70 the audit itself failed
  3 the input is incomplete: lost records, gaps, lines that do not parse, or a silent name server. The report lists
    what was found, but absence of a finding proves nothing. 3 takes precedence over 1.
"""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options; ``command`` is the command's name. SystemExit: 0 after help, 2 after a usage error."""
    return parsers.parse(build, arguments, "audit")


def build() -> argparse.ArgumentParser:
    """The whole parser; tests compare the documentation with it."""
    parser = parsers.Parser(prog="rocketns audit", description=ABOUT, epilog=EXAMPLES, formatter_class=_Format)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=parsers.Parser)
    for name, (line, text, options) in COMMANDS.items():
        command = commands.add_parser(name, help=line, description=text, formatter_class=_Format, allow_abbrev=False)
        for option, how in options:
            command.add_argument(option, **how)
        parsers.add_language_option(command)
    parsers.add_language_option(parser)
    return parser


class _Format(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=24, width=WIDTH)


def _option(name: str, **how: Any) -> tuple[str, dict[str, Any]]:
    """The arguments of ``add_argument``."""
    return name, how


JOURNAL = _option("--journal", required=True, type=folder, metavar="PATH",
    help="folder that holds v=1/dt=.../ns=.../*.jsonl; any path that Spark can read")  # fmt: skip
OUT = _option("--out", required=True, type=folder, metavar="PATH",
    help="folder to write to; it is created if absent. Each run replaces report.html, report.md, incidents.jsonl "
         "and summary.json. Kept are: in events/ all records that were read, also after the journal's files are "
         "gone; in results/ the tables and pages of the last 3 runs. The folder belongs to its journal: another one "
         "is refused")  # fmt: skip
SPARK = (
    _option("--master", metavar="MASTER",
        help="Spark master, such as spark://host:7077 (default: local[*], or the master of spark-submit)"),
    _option("--conf", action="append", default=[], metavar="KEY=VALUE", type=setting,
        help="a Spark setting, such as spark.driver.memory=3g; may be repeated"),
)  # fmt: skip
MIN_WINDOW = _option("--min-window", type=duration, default=terms.MIN_WINDOW_US, metavar="DURATION",
    help="shorter disagreements are left out: a registration reaches the name servers one after another "
         f"(default: {terms.seconds(terms.MIN_WINDOW_US)})")  # fmt: skip
CLOCKS = _option("--clocks", type=duration, metavar="TIME",
    help="the clocks of all machines differ by this at most, since they are synchronised (NTP), such as 1s. It counts "
         "where the journals show nothing better. (default: unknown, so 10 minutes, or an hour)")  # fmt: skip
COLLECT = (
    _option("--name-servers", metavar="LIST",
        help="watch these name servers first, Java's or rocketns: [NAME=]HOST:PORT of each, separated by commas. What "
             "is seen is written below --journal, by default below collected/ in --out; then it is audited. 'rocketns "
             "collect' watches for longer, and has more options"),
    _option("--for", dest="collect_for", metavar="TIME",
        help="how long to watch them (default: 10m). Ctrl-C ends it early"),
)  # fmt: skip
RUN = (
    _option("--journal", type=folder, metavar="PATH",
        help="folder that holds v=1/dt=.../ns=.../*.jsonl; any path that Spark can read. With --name-servers what is "
             "seen is written there"),
    OUT,
    *COLLECT,
    _option("--from", dest="t0", type=instant, metavar="TIME",
        help="start of the observation, in UTC unless it has a zone (default: the first record)"),
    _option("--to", dest="t1", type=instant, metavar="TIME",
        help="end of the observation, exclusive (default: what the journals of all live name servers have "
             "reached)"),
    _option("--days", type=day_count, metavar="N",
        help="audit only the last N days. So a run each night costs the same after a year as after a month "
             "(default: all)"),
    MIN_WINDOW,
    CLOCKS,
    _option("--groups", type=counts, default=terms.GROUP_SIZES, metavar="N,N",
        help="sizes of consumer groups that the impact is computed for, over every way to spread their members over "
             f"the name servers (default: {','.join(map(str, terms.GROUP_SIZES))}). Groups whose members the "
             "journals name are computed as they really were, whatever their size"),
    _option("--dead-days", type=day_count, default=terms.DEAD_DAYS, metavar="DAYS",
        help=f"days without a lookup after which a topic is called dead (default: {terms.DEAD_DAYS})"),
    *SPARK,
)  # fmt: skip
STREAM = (
    JOURNAL,
    _option("--out", required=True, type=folder, metavar="PATH",
        help="folder on this machine; it is created if absent. alerts.jsonl grows by a line for each alert that opens "
             "or closes, and checkpoint/ is the stream's memory"),
    _option("--checkpoint", type=folder, metavar="PATH",
        help="folder of the stream's memory; after a restart it continues from there "
             "(default: checkpoint below --out)"),
    _option("--webhook", metavar="URL", help="http or https address to which each alert is posted as JSON"),
    CLOCKS,
    _option("--alertmanager", metavar="URL",
        help="address of a Prometheus Alertmanager (API v2), such as http://localhost:9093"),
    _option("--every", type=duration, default=terms.EVERY_US, metavar="DURATION",
        help=f"how often to look for new records (default: {terms.seconds(terms.EVERY_US)})"),
    _option("--grace", type=duration, default=terms.GRACE_US, metavar="DURATION",
        help="how late a heartbeat may be at one name server before a partition is alerted "
             f"(default: {terms.seconds(terms.GRACE_US)})"),
    _option("--silent-after", type=duration, default=terms.STREAM_SILENT_AFTER_US, metavar="DURATION",
        help="how far a journal may lag behind the others before its name server counts as silent "
             f"(default: {terms.seconds(terms.STREAM_SILENT_AFTER_US)})"),
    _option("--once", action="store_true", help="process what is there, then stop"),
    MIN_WINDOW, *SPARK,
)  # fmt: skip
EXPLAIN = (
    _option("topic", metavar="TOPIC", help="name of the topic"),
    _option("--at", required=True, type=instant, metavar="TIME", help="the moment, in UTC unless it has a zone"),
    _option("--out", required=True, type=folder, metavar="PATH", help="--out of the run, which looked at that moment"),
    *SPARK,
)  # fmt: skip
DEMO = (
    _option("--out", default="rocketns-demo", type=folder, metavar="PATH",
        help="folder for the journal and the report (default: rocketns-demo)"),
    *SPARK,
)  # fmt: skip

VERIFY = (
    _option("--journal", required=True, type=folder, metavar="PATH",
        help="folder on this machine that holds v=1/dt=.../ns=.../*.jsonl"),
    _option("--head", action="append", default=[], type=head, metavar="HEAD",
        help="a head that an earlier check printed: it must still be in its chain; may be repeated"),
)  # fmt: skip

COMMANDS = {
    "run": ("read journals, run every job, write the report",
            "Read the journals, run every job, and write result tables, summary.json, report.html, report.md and\n"
            "incidents.jsonl below --out.", RUN),
    "report": ("write the report again from the tables of an earlier run",
               "Write report.html, report.md and incidents.jsonl again from the result tables and summary.json that "
               "'run'\nleft below --out.", (OUT, *SPARK)),
    "stream": ("keep running, and alert while it happens",
               "Follow the journals as they are written. Each alert is one line in alerts.jsonl below --out when it "
               "opens,\nand one when it closes. Stop with Ctrl-C or SIGTERM; after a restart it continues where it "
               "stopped.", STREAM),
    "explain": ("the route of a topic at a moment, on each name server",
                "Print what each name server would have answered for TOPIC at a moment of the last run, since when "
                "and why.", EXPLAIN),
    "demo": ("audit a recorded journal with known incidents",
             "Audit a small recorded journal that has an incident of each kind, and compare the result with what is in "
             "it.\nExit status 0: every incident was found, and no other.", DEMO),
    "verify": ("check that no line of the journals was changed or removed",
               "Check the chain of hashes through each name server's journal, and print its head. Keep heads on "
               "another\nmachine: with --head a later check shows that what they covered is unchanged. Needs no "
               "Spark.\nExit status: 0 intact, 1 broken (file, line and what is wrong), 2 cannot tell.", VERIFY),
}  # fmt: skip
