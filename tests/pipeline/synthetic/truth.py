"""The results of an audit compared with the truth about a synthetic fleet. Plain values, no Spark.

The audit's times are compared with a tolerance, since name servers' clock offsets are known only as well as they can be
told from the journals.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rocketns.pipeline.contract.terms import CLOCKS, LOST_RECORDS
from tests.pipeline.synthetic.verdicts import FaultOutcome, Verdict, invented, outcome, sets

Row = Mapping[str, Any]
Tables = Mapping[str, Iterable[Row]]

# The columns that are read of each result table.
COLUMNS = {
    "ns_uptime": ("ns", "t1", "t2", "end_cause"),
    "key_windows": ("topic", "broker", "t1", "t2", "doubt"),
    "departures": ("broker", "kind", "t1", "ns"),
    "broker_stats": ("ns", "broker", "bid", "addr", "up_s", "failed_s", "planned_s", "failures", "graceful", "flaps"),
    "dead_topics": ("topic", "kind"),
    "topics": ("topic", "kind", "n", "served", "created"),
    "clients": ("client", "poll_s"),
    "missing_topics": ("topic", "hour", "kind"),
    "quality": ("kind", "ns", "n"),
}
# The ends of the observation and of a killed name server are those of the last record.
UP_TOLERANCE_S = 90.0
FAST_POLL_S = 15
BOOT_ENDS = {"stop": "stop", "kill": "lost", None: "open"}
TOLERANCE_US = 1_000_000
# The ends of the observation and of a killed name server are those of the last record.
END_TOLERANCE_US = 90_000_000


def compare(truth: Mapping[str, Any], tables: Tables) -> list[Verdict]:
    """A verdict for each fault and each other fact, then for everything invented. KeyError if a table of COLUMNS is
    missing. Rows need no order and may have more columns."""
    given = {name: list(tables[name]) for name in COLUMNS}
    offsets = [server["offset_us"] for server in truth["name_servers"]]
    apart = max(offsets) - min(offsets)
    tolerance, tolerance_s = apart + TOLERANCE_US, apart / 1e6 + UP_TOLERANCE_S
    faults = _Faults(truth, given, tolerance)
    return [
        *faults.verdicts(),
        *_brokers(truth, given["broker_stats"], tolerance_s),
        *_topics(truth, given),
        *_losses(truth, given["quality"]),
        *faults.invented(),
    ]


class _Faults:
    """Windows, departures and boots: each expected one takes a row that was found; rows that remain were invented."""

    def __init__(self, truth: Mapping[str, Any], given: Mapping[str, list[Row]], tolerance: int) -> None:
        self.truth, self.tolerance = truth, tolerance
        self.boots = _by(given["ns_uptime"], "ns")
        called = [row for row in given["key_windows"] if row["doubt"] != CLOCKS]
        self.windows = _by(called, "broker", "topic")
        self.departures = _by(given["departures"], "broker")

    def verdicts(self) -> Iterator[Verdict]:
        for fault in self.truth["faults"]:
            if fault["kind"] in ("corrupt", "hole", "drop"):
                continue
            wanted = [*self._windows(fault), *self._doubtful(fault), *self._departures(fault), *self._boots(fault)]
            yield _judged(fault, wanted)
        yield from self._other_boots()

    def _windows(self, fault: Row) -> Iterator[tuple[bool, str]]:
        """(found, what) of each topic's window; an optional window counts only if it was found."""
        for window in fault["windows"]:
            for topic in window["topics"]:
                found = self._take(self.windows[window["broker"], topic], lambda row, w=window: self._surely(row, w))
                if found or not window["optional"]:
                    yield found, f"window of {topic} on {window['broker']}"

    def _surely(self, row: Row, window: Row) -> bool:
        return row["doubt"] != LOST_RECORDS and self._same(row, window)

    def _doubtful(self, fault: Row) -> Iterator[tuple[bool, str]]:
        """(found, what) of each window that only lost records make. It has to be marked so."""
        for window in fault["doubtful"]:
            rows = self.windows[window["broker"], window["topic"]]
            found = self._take(rows, lambda row, w=window: row["doubt"] == LOST_RECORDS and self._same(row, w))
            yield found, f"doubt about {window['topic']} on {window['broker']}"

    def _same(self, row: Row, window: Row) -> bool:
        last = self.truth["t1"] - window["t2"] < END_TOLERANCE_US
        end_tolerance = END_TOLERANCE_US if last else self.tolerance
        begins = abs(row["t1"] - window["t1"]) <= self.tolerance
        return bool(begins and abs(row["t2"] - window["t2"]) <= end_tolerance)

    def _departures(self, fault: Row) -> Iterator[tuple[bool, str]]:
        for wanted in fault["departures"]:
            found = self._take(self.departures[(wanted["broker"],)], lambda row, w=wanted: self._same_departure(row, w))
            yield found, f"{wanted['kind']} departure of {wanted['broker']} at {' '.join(wanted['ns'])}"

    def _same_departure(self, row: Row, wanted: Row) -> bool:
        near = abs(row["t1"] - wanted["t1"]) <= self.tolerance
        return bool(near and row["kind"] == wanted["kind"] and sorted(row["ns"]) == wanted["ns"])

    def _boots(self, fault: Row) -> Iterator[tuple[bool, str]]:
        """A stopped or killed name server has an uptime that ends so."""
        if fault["kind"] in ("restart", "kill"):
            boot = next(b for b in self._boots_of(fault["ns"]) if b["t2"] == fault["t1"])
            yield self._take_boot(fault["ns"], boot), f"end of {fault['ns']}"

    def _boots_of(self, ns: str) -> list[Row]:
        return next(server["boots"] for server in self.truth["name_servers"] if server["ns"] == ns)

    def _take_boot(self, ns: str, boot: Row) -> bool:
        def same(row: Row) -> bool:
            near = abs(row["t1"] - boot["t1"]) <= self.tolerance and abs(row["t2"] - boot["t2"]) <= END_TOLERANCE_US
            return bool(near and row["end_cause"] == BOOT_ENDS[boot["end"]])

        return self._take(self.boots[(ns,)], same)

    def _other_boots(self) -> Iterator[Verdict]:
        for server in self.truth["name_servers"]:
            found = self._take_boot(server["ns"], server["boots"][-1])
            yield Verdict(outcome(found), "ns_uptime", f"{server['ns']} is up at the end")

    @staticmethod
    def _take(rows: list[Row], same: Any) -> bool:
        """Whether there is such a row; it is removed."""
        for place, row in enumerate(rows):
            if same(row):
                del rows[place]
                return True
        return False

    def invented(self) -> Iterator[Verdict]:
        """The rows that no fault took. Windows of one broker with the same times count as one."""
        for rows in self.boots.values():
            yield from (invented("ns_uptime", f"{row['ns']} up until {row['t2']} ({row['end_cause']})") for row in rows)
        together: dict[tuple[str, int, int], list[str]] = defaultdict(list)
        for row in (row for rows in self.windows.values() for row in rows):
            together[row["broker"], row["t1"], row["t2"]].append(row["topic"])
        for (broker, t1, t2), topics in sorted(together.items()):
            span = f"{t1} for {(t2 - t1) / 1e6:.3f} s"
            yield invented("key_windows", f"{len(topics)} topics on {broker} from {span}, such as {min(topics)}")
        for row in (row for rows in self.departures.values() for row in rows):
            yield invented("departures", f"{row['kind']} departure of {row['broker']} at {row['t1']} from {row['ns']}")


def _judged(fault: Row, wanted: list[tuple[bool, str]]) -> Verdict:
    missed = [what for found, what in wanted if not found]
    if not wanted:
        return Verdict(FaultOutcome.QUIET, fault["id"], "nothing is to be found")
    if missed:
        return Verdict(FaultOutcome.MISSED, fault["id"], f"{len(missed)} of {len(wanted)}: {missed[0]}")
    return Verdict(FaultOutcome.FOUND, fault["id"], f"{len(wanted)} of {len(wanted)}, such as {wanted[-1][1]}")


def _brokers(truth: Mapping[str, Any], rows: list[Row], tolerance_s: float) -> Iterator[Verdict]:
    """One verdict if every figure is right, else one for each that is not."""
    found = {_broker(row): row for row in rows}
    wanted = {_broker(row): row for row in truth["brokers"]}
    wrong = [key for key, row in wanted.items() if key not in found or not _same_figures(found[key], row, tolerance_s)]
    for key in wrong:
        yield Verdict(FaultOutcome.MISSED, "broker_stats", f"{' '.join(map(str, key))}: {_figures(wanted[key])}, not "
                      + (_figures(found[key]) if key in found else "absent"))  # fmt: skip
    if not wrong:
        yield Verdict(FaultOutcome.FOUND, "broker_stats", f"all figures of {len(wanted)} brokers at name servers")
    yield from (invented("broker_stats", " ".join(map(str, key))) for key in sorted(found.keys() - wanted.keys()))


def _broker(row: Row) -> tuple[Any, ...]:
    return row["ns"], row["broker"], row["bid"], row["addr"]


def _figures(row: Row) -> str:
    counts = f"{row['failures']} failures, {row['graceful']} graceful, {row['flaps']} flaps"
    return f"{counts}, up {row['up_s']:.0f} s, failed {row['failed_s']:.0f} s, planned {row['planned_s']:.0f} s"


def _same_figures(row: Row, wanted: Row, tolerance_s: float) -> bool:
    counted = all(row[name] == wanted[name] for name in ("failures", "graceful", "flaps"))
    times = ("up_s", "failed_s", "planned_s")
    return counted and all(abs(row[name] - wanted[name]) <= tolerance_s for name in times)


def _topics(truth: Mapping[str, Any], given: Mapping[str, list[Row]]) -> Iterator[Verdict]:
    dead = {row["topic"] for row in given["dead_topics"] if row["kind"] == "user"}
    yield from sets("dead_topics", set(truth["dead"]), dead)
    users = [row for row in given["topics"] if row["kind"] == "user"]
    most = max((row["n"] for row in users), default=0)
    yield from sets("topics", {truth["hottest"]}, {row["topic"] for row in users if row["n"] == most})
    yield from sets("topics", set(truth["sole"]), {row["topic"] for row in users if row["served"] == 1})
    fast = {row["client"] for row in given["clients"] if row["poll_s"] is not None and row["poll_s"] < FAST_POLL_S}
    yield from sets("clients", set(truth["pollers"]), fast)
    wanted = {(row["topic"], row["hour"], row["kind"]) for row in truth["missing"]}
    yield from sets("missing_topics", wanted, {(r["topic"], r["hour"], r["kind"]) for r in given["missing_topics"]})


def _losses(truth: Mapping[str, Any], quality: list[Row]) -> Iterator[Verdict]:
    """Lines that do not parse, dropped records, and holes in the sequence numbers; any other kind was invented."""
    wanted: set[tuple[str, str, int]] = set()
    for server in truth["name_servers"]:
        lost: Counter[str] = Counter()
        for row in server["lost"]:
            lost[row["kind"]] += row["lost"]
            lost["missing"] += row["lost"]
        counted = {"corrupt": lost["corrupt"], "drop": lost["drop"], "hole": lost["missing"]}
        wanted |= {(server["ns"], kind, n) for kind, n in counted.items() if n}
    sums: Counter[tuple[str, str]] = Counter()
    for row in quality:
        sums[row["ns"], row["kind"]] += row["n"]
    yield from sets("quality", wanted, {(ns, kind, n) for (ns, kind), n in sums.items()})


def _by(rows: Iterable[Row], *names: str) -> defaultdict[tuple[Any, ...], list[Row]]:
    grouped: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        grouped[tuple(row[name] for name in names)].append(row)
    return grouped
