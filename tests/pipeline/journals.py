"""Small journals for tests: hand-made ones through ``Journal``, random ones through ``random_journals``.

A journal is a list of record dicts, as the lines of one name server's files hold them. ``Journal`` keeps what the
name server would know (who is registered, with which topics), so that its records state effects as the server's do.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.schema import EVENTS

Record = dict[str, Any]
Journals = dict[str, list[Record]]  # by name server

SECOND = 1_000_000  # us
TIMEOUT_MS = 120_000
DAY_START = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z; hand-made journals may as well start at 0


class Broker(NamedTuple):
    """A broker as a registration names it."""

    name: str
    addr: str
    cluster: str = "c"
    bid: int = 0


def topic(name: str, r: int = 4, w: int = 4, p: int = 6, s: int = 0) -> Record:
    """A topic as tput records hold it."""
    return {"t": name, "r": r, "w": w, "p": p, "s": s}


class Journal:
    """Writes one name server's records. Times are epoch us and must not go back, as no rule here sorts them."""

    def __init__(self, start_us: int) -> None:
        self.records: list[Record] = []
        self.alive: dict[Broker, int] = {}  # time of the last heartbeat
        self.topics: dict[str, dict[str, Record]] = {}  # broker name -> topic name -> value
        self.start(start_us)

    def add(self, ts: int, ev: str, **values: Any) -> Record:
        self.seq += 1
        record = {"boot": self.boot, "seq": self.seq, "ts": ts, "ev": ev, **values}
        self.records.append(record)
        return record

    def start(self, ts: int) -> None:
        self.boot, self.seq = ts // 1000, 0
        self.alive.clear()
        self.topics.clear()
        self.add(ts, "start")

    def stop(self, ts: int) -> None:
        self.add(ts, "stop")

    def register(self, ts: int, broker: Broker, topics: Iterable[Record] = (), version: int = 1) -> None:
        named = _named(broker)
        self.add(ts, "reg", **named, dvt=ts // 1000, dvc=version, dvs=0, timeout_ms=TIMEOUT_MS)
        self.alive[broker] = ts
        self.put(ts, broker.name, topics, "register")

    def put(self, ts: int, broker_name: str, topics: Iterable[Record], cause: str = "topic") -> None:
        known = self.topics.setdefault(broker_name, {})
        changed = [t for t in topics if known.get(t["t"]) != t]
        known.update({t["t"]: t for t in changed})
        if changed:
            self.add(ts, "tput", broker=broker_name, cause=cause, topics=changed)

    def delete(self, ts: int, broker_name: str, names: Sequence[str], cause: str = "admin") -> None:
        known = self.topics.get(broker_name, {})
        gone = [known.pop(name) for name in names if name in known]
        if gone:
            self.add(ts, "tdel", broker=broker_name, cause=cause, topics=gone)

    def heartbeat(self, ts: int, broker: Broker, version: int = 1) -> None:
        gap = (ts - self.alive[broker]) // 1000
        self.alive[broker] = ts
        self.add(ts, "hb", **_named(broker), gap=gap, dvt=0, dvc=version, dvs=0)

    def down(self, ts: int, broker: Broker, cause: str) -> None:
        """The live entry goes; its topics too, if it was the last address of its name."""
        gap = (ts - self.alive.pop(broker)) // 1000
        self.add(ts, "down", **_named(broker), gap=gap, cause=cause)
        if all(other.name != broker.name for other in self.alive):
            self.delete(ts, broker.name, sorted(self.topics.get(broker.name, {})), cause)

    def lookup(self, ts: int, name: str, n: int, miss: int = 0, client: str = "*", iv_ms: int = 60_000) -> None:
        self.add(ts, "lookup", topic=name, client=client, n=n, miss=miss, iv_ms=iv_ms, lang="JAVA", cv=495)


def _named(broker: Broker) -> Record:
    return {"cluster": broker.cluster, "broker": broker.name, "addr": broker.addr, "bid": broker.bid}


def worked_example() -> Journals:
    """Two name servers and two brokers; n2 does not hear broker-b between 62 s and 302 s. It ends at 400 s."""
    a, b = Broker("broker-a", "10.0.0.1:10911"), Broker("broker-b", "10.0.0.2:10911")
    order = topic("order_topic")
    journals = {ns: Journal(0) for ns in ("n1", "n2")}
    steps: list[tuple[int, Broker, str]] = [(1, a, "reg"), (2, b, "reg")]
    steps += [(t, a, "hb") for t in range(31, 400, 30)] + [(t, b, "hb") for t in range(32, 400, 30)]
    for second, broker, what in sorted(steps, key=lambda step: step[0]):
        for ns, journal in journals.items():
            unheard = ns == "n2" and broker is b and 62 < second < 302
            if ns == "n2" and second >= 185 and b in journal.alive and journal.alive[b] == 62 * SECOND:
                journal.down(185 * SECOND, b, "expired")
            if unheard:
                continue
            if what == "reg" or broker not in journal.alive:
                journal.register(second * SECOND, broker, [order])
            else:
                journal.heartbeat(second * SECOND, broker)
    return {ns: journal.records for ns, journal in journals.items()}


def random_journals(seed: int, *, start_us: int = DAY_START, seconds: int = 3600) -> Journals:
    """What 2-3 name servers would have written about up to 4 brokers and 4 topics, with every kind of fault."""
    chance = random.Random(seed)
    brokers = _random_brokers(chance)
    names = [f"n{i}" for i in range(1, chance.randint(2, 3) + 1)]
    return {ns: _random_journal(chance, brokers, start_us + chance.randint(0, 5) * SECOND, seconds) for ns in names}


def _random_brokers(chance: random.Random) -> list[Broker]:
    brokers = [Broker(f"broker-{c}", f"10.0.0.{i}:10911") for i, c in enumerate("abcd"[: chance.randint(1, 4)], 1)]
    if chance.random() < 0.5:
        brokers.append(Broker(brokers[0].name, "10.0.1.1:10911", bid=1))
    return brokers


def _random_journal(chance: random.Random, brokers: Sequence[Broker], start_us: int, seconds: int) -> list[Record]:
    journal, up, now = Journal(start_us), True, start_us
    while True:
        # Equal times are wanted: records with the same time are to be applied together.
        now += chance.choice((0, 0, 1, SECOND, 10 * SECOND, 30 * SECOND, 150 * SECOND))
        if now >= start_us + seconds * SECOND:
            return journal.records
        if not up or chance.random() < 0.02:
            up = _stop_or_start(chance, journal, now, up)
        else:
            _random_step(chance, journal, now, chance.choice(brokers))


def _stop_or_start(chance: random.Random, journal: Journal, now: int, up: bool) -> bool:
    """A boot is told by its ms, so a start needs one of its own."""
    if up and chance.random() < 0.5:
        journal.stop(now)
        return False
    if now // 1000 > journal.boot:
        journal.start(now)
        return True
    return up


def _random_step(chance: random.Random, journal: Journal, now: int, broker: Broker) -> None:
    draw = chance.random()
    if broker not in journal.alive:
        journal.register(now, broker, _random_topics(chance), chance.randint(1, 3))
    elif draw < 0.5:
        journal.heartbeat(now, broker, chance.randint(1, 3))
    elif draw < 0.65:
        causes = ("unregister", "expired", "channel_close", "channel_exception", "channel_idle")
        journal.down(now, broker, chance.choice(causes))
    elif draw < 0.75:
        journal.put(now, broker.name, _random_topics(chance))
    elif draw < 0.8:
        journal.delete(now, broker.name, chance.sample("TUV", k=1))
    elif draw < 0.85:
        journal.register(now, broker, _random_topics(chance), chance.randint(1, 3))
    else:
        asked = chance.randint(1, 50)
        client = chance.choice(("10.0.9.1:4001", "10.0.9.2:4002", "*"))
        journal.lookup(now, chance.choice(("T", "U", "V", "%RETRY%g", "gone")), asked, chance.randint(0, asked), client)


def _random_topics(chance: random.Random) -> list[Record]:
    names = ("T", "U", "V", "%RETRY%g")
    sizes = (1, 2, 4, 8)
    return [
        topic(name, chance.choice(sizes), chance.choice(sizes), chance.choice((2, 4, 6, 6, 6)))
        for name in names
        if chance.random() < 0.7
    ]


def write_files(journals: Mapping[str, Sequence[Record]], folder: Path, records_a_file: int = 1000) -> list[Path]:
    """The journals as files, ``v=1/dt=…/ns=…/<boot>-<file no>.jsonl`` under the folder. A file holds one boot."""
    written = []
    for ns, records in journals.items():
        for boot, group in itertools.groupby(records, key=lambda record: record["boot"]):
            of_boot = list(group)
            for number, first in enumerate(range(0, len(of_boot), records_a_file), 1):
                part = of_boot[first : first + records_a_file]
                path = folder / "v=1" / f"dt={utc_date(part[0]['ts'])}" / f"ns={ns}" / f"{boot}-{number}.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(json.dumps(record) + "\n" for record in part), "utf-8")
                written.append(path)
    return written


def utc_date(ts: int) -> str:
    return datetime.fromtimestamp(ts // SECOND, UTC).date().isoformat()


def events_frame(spark: SparkSession, journals: Mapping[str, Sequence[Record]]) -> DataFrame:
    """The journals as the frame that the jobs take; ``dt`` is each record's own date."""
    rows = [
        {**record, "ns": ns, "dt": utc_date(record["ts"])} for ns, records in journals.items() for record in records
    ]
    return spark.createDataFrame([tuple(_value(row, name) for name in EVENTS.names) for row in rows], EVENTS)


def _value(row: Record, name: str) -> Any:
    if name == "topics" and row.get("topics") is not None:
        return [(t["t"], t["r"], t["w"], t["p"], t["s"]) for t in row["topics"]]
    return row.get(name)


def observed(journals: Mapping[str, Sequence[Record]]) -> tuple[int, int]:
    """First record's time and one second after the last one's."""
    times = [record["ts"] for records in journals.values() for record in records]
    return min(times), max(times) + SECOND
