"""How steadily each name server saw each broker.

One row per (ns, broker, bid, addr): time up and away, availability, failures, flaps, time between failures, heartbeat
gaps.

Why a broker went, judged from all name servers together.

Downs of one broker that follow each other within TOGETHER_US (a closed connection or an unregistration) or within
timeout and scan (an expiry, what a restarted name server finds out, or what was observed from outside) are one
departure, unless the broker came back between them: to the name server of the later down, or, if that was observed, to
any that had lost it. Observed downs have no causes, so the time allowed for a timeout would join a cut link and a stop
soon after it. Downs of two name servers may follow each other later by as much as their clocks may differ. A timeout
counts as a day at most. What was observed may have come earlier, since the look before. An address that registered
under another id, or lost its id to another address, did not depart.

When name servers themselves did not run. They noticed what happened then later than others, or not at all.

Spark counts the heartbeats, of which there may be any number; the rest is plain values.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract import terms
from rocketns.pipeline.contract.frames import Observation, Row, columns, frame_of, plain_rows
from rocketns.pipeline.jobs.clocks import Clocks, may_differ

KEY = ("ns", "broker", "bid", "addr")
FLAP_US = 600_000_000
QUANTILES = {"gap_p50": 0.5, "gap_p95": 0.95, "gap_p99": 0.99}


def heartbeat_gaps(events: DataFrame, observation: Observation) -> DataFrame:
    """KEY, exact quantiles of the gaps that the name server measured, ms, the largest one, and their number."""
    inside = (F.col("ts") >= observation.t0) & (F.col("ts") < observation.t1)
    beats = events.where((F.col("ev") == "hb") & F.col("gap").isNotNull() & inside)
    counted = beats.groupBy(*KEY, "gap").agg(F.count("*").alias("n"))
    quantile = F.percentile("gap", F.array(*map(F.lit, QUANTILES.values())), F.col("n"))
    found = counted.groupBy(*KEY).agg(quantile.alias("q"), F.max("gap").alias("gap_max"), F.sum("n").alias("gaps"))
    return found.select(*KEY, "gap_max", "gaps", *[F.col("q")[i].alias(name) for i, name in enumerate(QUANTILES)])


def broker_stats(
    broker_intervals: Iterable[Row], gaps: Iterable[Row], ns_uptime: Iterable[Row], observation: Observation
) -> list[Row]:
    """BROKER_STATS. ``gaps``: of ``heartbeat_gaps``.

    Times count while the name server is known to be up: a killed one wrote no record of when its brokers went. Away is
    from an end until the next interval of the address; after the name server's own start nothing counts until the
    broker is back. A flap is a failure followed by a registration of the same address within FLAP_US. What observers
    saw is none of the others. Availability is null if the broker was neither listed nor away after a failure."""
    t0, t1 = observation
    boots, heard = _grouped(ns_uptime, "ns"), {_of(row, KEY): row for row in gaps}

    def known_us(ns: str, start: int, end: int) -> int:
        """How much of [start, end) lies in the observation and in boots of the name server."""
        overlaps = (min(end, t1, up["t2"]) - max(start, t0, up["t1"]) for up in boots[ns,])
        return sum(max(overlap, 0) for overlap in overlaps)

    def figures(ns: str, lives: Sequence[Row]) -> Row:
        sums = defaultdict[str, int](int)
        for life, back in zip(lives, [*(one["t1"] for one in lives[1:]), t1], strict=True):
            end, inside = life["t2"], t0 <= life["t2"] < t1
            sums["up"] += known_us(ns, life["t1"], end)
            if life["end_cause"] in terms.FAILURES:
                sums["away"] += known_us(ns, end, back)
                sums["failures"] += inside
                sums["flaps"] += inside and back < t1 and back - end <= FLAP_US
            elif life["end_cause"] in terms.GRACEFUL:
                sums["planned"] += known_us(ns, end, back)
                sums["graceful"] += inside
            elif life["end_cause"] in terms.OBSERVED:
                sums["observed"] += inside
        known = sums["up"] + sums["away"]
        return {
            **{name: sums[name] for name in ("failures", "flaps", "graceful", "observed")},
            "up_s": sums["up"] / 1e6,
            "failed_s": sums["away"] / 1e6,
            "planned_s": sums["planned"] / 1e6,
            "availability": sums["up"] / known if known else None,
            "mtbf_s": sums["up"] / 1e6 / sums["failures"] if sums["failures"] else None,
        }

    return [
        {"gaps": 0, **heard.get(key, {}), **dict(zip(KEY, key, strict=True)), **figures(key[0], lives)}
        for key, lives in _grouped(broker_intervals, *KEY).items()
        if key[:1] in boots and any(life["t1"] < t1 and life["t2"] >= t0 for life in lives)
    ]


TOGETHER_US = 10_000_000
BIN_US = 300_000_000
TIMEOUT_MAX_MS = 86_400_000
BROKER = ("cluster", "broker")
DEPARTED = (*terms.GRACEFUL, *terms.FAILURES, *terms.OBSERVED)
# Who stayed in the departure of that number: heartbeats after ``after`` and up to ``until`` count.
STAYED = columns("number:int cluster:string broker:string ns:string bid:int after:long until:long")


def departures(
    broker_intervals: Iterable[Row],
    events: DataFrame,
    observation: Observation,
    clock_days: Iterable[Row],
    user_topics_of_brokers: Mapping[str, Row],
    stalls: Collection[Row],
) -> list[Row]:
    """DEPARTURES. ``user_topics_of_brokers``: as the function of that name gives it, by broker. ``t1`` is the first
    down, ``t2`` the last; ``bids``: the broker ids that went. ``kind`` is ``observed`` if nobody but observers saw it,
    who see no causes; otherwise it is that of the others. It is ``unclear`` if no other kind fits all name servers:
    causes are mixed, or a name server that still listed the broker neither received a heartbeat nor dropped it."""
    clocks = Clocks(clock_days)
    found = [
        (downs, who_stayed(downs, lives))
        for lives in _grouped(broker_intervals, *BROKER).values()
        for downs in grouped_downs(lives, observation, clocks)
    ]
    heard = _heard(events, [who for _, who in found], observation)
    return [
        {
            **_departure(downs, stalls),
            "kind": kind_of(downs, stayed=bool(stayed), heard=number in heard),
            **user_topics_of_brokers.get(downs[0]["broker"], {}),
        }
        for number, (downs, stayed) in enumerate(found)
    ]


def _departure(downs: Sequence[Row], stalls: Collection[Row]) -> Row:
    first, last = downs[0]["t2"], downs[-1]["t2"]
    return {
        **{name: downs[0][name] for name in BROKER},
        "t1": first,
        "t2": last,
        "ns": sorted({down["ns"] for down in downs}),
        "bids": sorted({down["bid"] for down in downs}),
        "asked": sorted({down["asked"] for down in downs} - {None}),
        "t1_early": max(down["t2_early"] or 0 for down in downs if down["t2"] == first),
        "stalled": sorted(
            {
                down["ns"]
                for down, stall in product(downs, stalls)
                if down["ns"] == stall["ns"] and stall["t1"] <= down["t2"] <= stall["t2"]
            }
        ),
    }


def grouped_downs(lives: Sequence[Row], observation: Observation, clocks: Clocks) -> Iterator[list[Row]]:
    """The rows of BROKER_INTERVALS of a broker that departures closed within the observation, by departure."""
    downs = sorted(
        (life for life in lives if life["end_cause"] in DEPARTED and observation.t0 <= life["t2"] < observation.t1),
        key=itemgetter("t2", "ns", "bid", "addr"),
    )
    returns = _returns(lives)

    def starts(down: Row, before: Row) -> bool:
        off = (clocks.off(one["ns"], one["t2"]) for one in (down, before))
        apart = may_differ(*off) if down["ns"] != before["ns"] else 0
        wait = _expiry_us(down) if down["end_cause"] in terms.NOTICED_LATE else TOGETHER_US
        came_back = returns[: bisect_right(returns, down["t2"])][-1:]
        return (
            down["t2"] - (down["t2_early"] or 0) - before["t2"] > wait + apart
            or down["t1"] > before["t2"]
            or (down["end_cause"] in terms.OBSERVED and any(back > before["t2"] for back in came_back))
        )

    departure = downs[:1]
    for before, down in pairwise(downs):
        if starts(down, before):
            yield departure
            departure = []
        departure.append(down)
    if departure:
        yield departure


def _returns(lives: Iterable[Row]) -> list[int]:
    """When a broker came back to a name server that had lost it."""
    of_member = _grouped(lives, "ns", "bid").values()
    return sorted(back["t1"] for of in of_member for gone, back in pairwise(of) if gone["end_cause"] in DEPARTED)


def who_stayed(downs: Sequence[Row], lives: Iterable[Row]) -> list[Row]:
    """The intervals at the first down of the ids that went, at name servers that did not lose them in this departure;
    with ``after`` and ``until``, between which a heartbeat shows that the broker lived."""
    d1, bids = downs[0]["t2"], {down["bid"] for down in downs}
    lost = {(down["ns"], down["bid"]) for down in downs}
    horizon = d1 + max(map(_expiry_us, downs))
    return [
        {**life, "after": d1, "until": min(horizon, life["t2"] - 1)}
        for life in lives
        if life["t1"] <= d1 < life["t2"] and life["bid"] in bids and (life["ns"], life["bid"]) not in lost
    ]


def _heard(events: DataFrame, stayed: Sequence[Sequence[Row]], observation: Observation) -> set[int]:
    """Which departures, by number, have a heartbeat of a broker at a name server that stayed. Joining by time bins
    compares each heartbeat only with the departures near it."""
    asked = [(number, *_of(who, STAYED.names[1:])) for number, of in enumerate(stayed) for who in of]
    if not asked:
        return set()
    bins = F.explode(F.sequence(F.expr(f"after div {BIN_US}"), F.expr(f"until div {BIN_US}")))
    near = F.broadcast(frame_of(events.sparkSession, asked, STAYED).where("after <= until").withColumn("bin", bins))
    key = [*BROKER, "ns", "bid"]
    beats = events.where(
        (F.col("ev") == "hb") & (F.col("ts") >= observation.t0) & (F.col("ts") < observation.t1)
    ).select(*key, "ts", F.expr(f"ts div {BIN_US}").alias("bin"))
    after = (F.col("ts") > F.col("after")) & (F.col("ts") <= F.col("until"))
    found = beats.join(near, [*key, "bin"], "inner").where(after).select("number").distinct()
    return {row["number"] for row in found.collect()}


def _expiry_us(down: Row) -> int:
    """Timeout and scan: after this time without a heartbeat a name server drops the broker. The broker says how long,
    and may say anything."""
    said = down["timeout_ms"]
    timeout = terms.TIMEOUT_MS if said is None else min(max(said, 0), TIMEOUT_MAX_MS)
    return timeout * 1000 + terms.SCAN_US


def kind_of(downs: Iterable[Row], *, stayed: bool, heard: bool) -> str:
    """``stayed``: some name server still listed the broker; ``heard``: one of them heard it."""
    causes = {down["end_cause"] for down in downs} - {*terms.OBSERVED}
    if causes & {*terms.GRACEFUL}:
        return "graceful"
    if heard:
        return "partition"
    if not causes:
        return "observed"
    if not stayed and causes <= {*terms.CONNECTION_ENDED}:
        return "crash"
    return "silent" if not stayed and causes <= {*terms.SILENT} else "unclear"


# A broker that closed its connection to a stalled name server registers again within its period of 30 s.
AFTER_US = 30_000_000


def stalls(events: DataFrame) -> Sequence[Row]:
    """``ns``, ``t1`` and ``t2``: a name server did not run, or had not heard all brokers again."""
    return plain_rows(
        events.where((F.col("ev") == "stall") & F.col("ms").isNotNull()).select(
            "ns", (F.col("ts") - F.col("ms") * 1000).alias("t1"), (F.col("ts") + AFTER_US).alias("t2")
        )
    )


def _grouped(rows: Iterable[Row], *names: str) -> Mapping[tuple[Any, ...], list[Row]]:
    """In the order of their times."""
    found = defaultdict[tuple[Any, ...], list[Row]](list)
    for row in sorted(rows, key=itemgetter("t1", "t2")):
        found[_of(row, names)].append(row)
    return found


def _of(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)
