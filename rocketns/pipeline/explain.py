"""`rocketns audit explain`: the route of a topic at a moment on each name server, by the tables of the last run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter

from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Row
from rocketns.pipeline.contract.terms import HOUR_US, BadInput, exact_text
from rocketns.pipeline.report.text import strict
from rocketns.pipeline.report.words.names import known_to
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.folders import folder_at
from rocketns.pipeline.storage.results import Results, current

# A name server writes a whole snapshot an hour, which restores the state after lost records.
RESTORED_US = HOUR_US


def explained_route(spark: SparkSession | None, out: str, topic: str, at: int) -> list[str]:
    """Lines for standard output, in which nothing can disturb a terminal. ``out``: the folder of a run; ``spark`` None:
    it is on this machine. BadInput if there was no run, or it did not look at that moment (epoch us)."""
    folder = folder_at(spark, out)
    summary = current(folder)
    seen, read = summary["observation"], Results(spark, folder, summary["run"]).rows
    if not seen["t0"] <= at < seen["t1"]:
        said = _("the run below %(out)s looked at %(begin)s to %(end)s: start 'rocketns audit run' for another time")
        raise BadInput(said % {"out": out, "begin": exact_text(seen["t0"]), "end": exact_text(seen["t1"])})
    values, boots, servers = read("topic_intervals", topic=[topic]), _at(read("ns_uptime"), at), read("sources")
    brokers = {row["broker"] for row in values}
    members = [row for row in _at(read("broker_intervals"), at) if row["broker"] in brokers]
    holes = [row for row in read("quality", kind=["hole"]) if row["t1"] <= at < row["t1"] + RESTORED_US]
    lines = [_("%(topic)s at %(at)s") % {"topic": topic, "at": exact_text(at)}, *_clocks(read("clock_days"), at)]
    for server in sorted(servers, key=itemgetter("ns")):
        boot = next((row for row in boots if row["ns"] == server["ns"]), None)
        own = [row for row in values if row["ns"] == server["ns"]]
        lines += _server(server, boot, sorted(_at(own, at), key=itemgetter("broker")), members)
        lost = [hole for hole in holes if boot and (hole["ns"], hole["boot"]) == (boot["ns"], boot["boot"])]
        lines += [*_perhaps(own, at), *map(_loss, lost)]
    return [strict(line) for line in lines]


def _at(rows: Iterable[Row], at: int) -> list[Row]:
    return [row for row in rows if row["t1"] <= at < row["t2"]]


def _clocks(clock_days: Iterable[Row], at: int) -> Iterator[str]:
    """Which clock the times are those of, and how far the others are off."""
    in_order = sorted(clock_days, key=itemgetter("day"))
    clocks = {row["ns"]: row for row in in_order if row["day"] <= exact_text(at)[:10]}
    for ns, row in sorted(clocks.items()):
        if ns == row["reference"]:
            yield _("times are those of the clock of %(ns)s") % {"ns": ns}
        else:
            known = known_to(row["method"], row["uncertainty"])
            shown = {"ns": ns, "off": f"{row['offset'] / 1e6:+g}", "known": known}
            yield _("the clock of %(ns)s counts as %(off)s s off (known %(known)s)") % shown


def _server(server: Row, boot: Row | None, values: Iterable[Row], members: Iterable[Row]) -> Iterator[str]:
    shown = {"ns": server["ns"]}
    if boot is None:
        yield _("%(ns)s: not known: it was down or not watched, or its journal has nothing of that time") % shown
    elif boot["no_topics"]:
        yield _("%(ns)s: not known: it was watched, but did not list its topics (enableAllTopicList)") % shown
    elif not values:
        yield _("%(ns)s: no route, it answered that the topic does not exist") % shown
    else:
        yield _("%(ns)s:") % shown
        for value in values:
            of = (row for row in members if (row["ns"], row["broker"]) == (server["ns"], value["broker"]))
            addresses = ", ".join(f"{row['bid']} {row['addr']}" for row in sorted(of, key=itemgetter("bid", "addr")))
            queues = {**value, "addrs": addresses}
            yield _("  %(broker)s: %(r)s read queues, %(w)s write queues, perm %(p)s; %(addrs)s") % queues
            yield _since(value, boot)


def _since(value: Row, boot: Row) -> str:
    shown = _between(value["t1"], value["t1_early"]) | {"cause": value["cause"]}
    if value["t1"] == boot["t1"]:
        return _("    since %(end)s or before (%(cause)s)") % shown
    if value["t1_early"]:
        return _("    since a moment between %(begin)s and %(end)s (%(cause)s)") % shown
    return _("    since %(end)s (%(cause)s)") % shown


def _perhaps(values: Iterable[Row], at: int) -> Iterator[str]:
    """Observed changes that were seen after the moment, and may have come before it."""
    edges = {(row["broker"], row[end], row[f"{end}_early"] or 0) for row in values for end in ("t1", "t2")}
    for broker, seen, early in sorted(edges):
        if seen - early < at < seen:
            said = _("  %(broker)s: a change came between %(begin)s and %(end)s, so maybe before this moment")
            yield said % (_between(seen, early) | {"broker": broker})


def _between(seen: int, early: int | None) -> dict[str, str]:
    return {"begin": exact_text(seen - (early or 0)), "end": exact_text(seen)}


def _loss(hole: Row) -> str:
    return _("  records are missing since %(since)s, so this may be out of date") % {"since": exact_text(hole["t1"])}
