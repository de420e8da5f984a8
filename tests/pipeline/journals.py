"""Small journals for tests: hand-made ones through ``Journal``, random ones through ``random_journals``.

A journal is a list of record dicts, as the lines of one name server's files hold them. ``Journal`` keeps what the
name server would know (who is registered, with which topics), so that its records state effects as the server's do.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from rocketns.pipeline.contract.schema import EVENTS

Record = dict[str, Any]
Journals = dict[str, list[Record]]  # by name server

_ARROW_EVENTS = to_arrow_schema(EVENTS)

SECOND = 1_000_000  # us
TIMEOUT_MS = 120_000
DAY_START = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z; hand-made journals may as well start at 0


class Broker(NamedTuple):
    """A broker as a registration names it."""

    name: str
    addr: str
    cluster: str = "c"
    bid: int = 0
    zone: str | None = None


def topic(name: str, r: int = 4, w: int = 4, p: int = 6, s: int = 0) -> Record:
    """A topic as tput records hold it."""
    return {"t": name, "r": r, "w": w, "p": p, "s": s}


class Journal:
    """Writes one name server's records. Times are epoch us, and each call's is not before the last one's."""

    def __init__(self, start_us: int, ns: str = "n1") -> None:
        self.ns = ns
        self.records: list[Record] = []
        self.alive: dict[Broker, int | None] = {}  # members, with the time of the last heartbeat
        self.topics: dict[str, dict[str, Record]] = {}  # broker name -> topic name -> value
        self.start(start_us)

    def add(self, ts: int, ev: str, **values: Any) -> Record:
        self.seq += 1
        record = {"boot": self.boot, "seq": self.seq, "ts": ts, "ev": ev, **values}
        self.records.append(record)
        return record

    def start(self, ts: int, restored: bool | None = None) -> None:
        self.boot, self.seq, self.file = ts // 1000, 0, 0
        self.alive.clear()
        self.topics.clear()
        self.open_file(ts)
        self.add(ts, "start", ns=self.ns, restored=restored)

    def open_file(self, ts: int) -> None:
        self.file += 1
        self.add(ts, "open", ns=self.ns, file=self.file, rotate_s=600)

    def stop(self, ts: int) -> None:
        self.add(ts, "stop")

    def register(self, ts: int, broker: Broker, topics: Iterable[Record] = (), version: int = 1) -> None:
        """A member joins; a broker that is one already sends a heartbeat with its topics."""
        if broker in self.alive:
            self.heartbeat(ts, broker, version)
            self.put(ts, broker.name, topics, "heartbeat")
            return
        self.add(ts, "reg", **_attributes(broker), dvt=0, dvc=version, dvs=0)
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
        gone = [{"t": name} for name in names if known.pop(name, None)]
        if gone:
            self.add(ts, "tdel", broker=broker_name, cause=cause, topics=gone)

    def heartbeat(self, ts: int, broker: Broker, version: int = 1) -> None:
        self.add(ts, "hb", **_named(broker), gap=self._gap(ts, broker), dvt=0, dvc=version, dvs=0)
        self.alive[broker] = ts

    def down(self, ts: int, broker: Broker, cause: str) -> None:
        """The member goes; its topics too, if it was the last address of its name."""
        self.add(ts, "down", **_named(broker), gap=self._gap(ts, broker), cause=cause)
        del self.alive[broker]
        if all(other.name != broker.name for other in self.alive):
            self.delete(ts, broker.name, sorted(self.topics.get(broker.name, {})), cause)

    def _gap(self, ts: int, broker: Broker) -> int | None:
        last = self.alive[broker]
        return None if last is None else (ts - last) // 1000

    def lookup(self, ts: int, name: str, n: int, miss: int = 0, client: str | None = None, iv_ms: int = 60_000) -> None:
        self.add(ts, "lookup", topic=name, client=client, n=n, miss=miss, iv_ms=iv_ms, lang="JAVA", cv=495)

    def snapshot(self, ts: int) -> None:
        """The whole state: members, topics, end."""
        snap = self.seq + 1
        parts: list[Record] = [{**_attributes(broker), "dvt": 0, "dvc": 1, "dvs": 0} for broker in self.alive]
        parts += [{"broker": name, "topics": list(known.values())} for name, known in self.topics.items() if known]
        for number, part in enumerate([*parts, {"end": True}]):
            self.add(ts, "snap", snap=snap, part=number, **part)

    def lose(self, ts: int, count: int = 1) -> None:
        """The last records were given up: they stay in effect, but are not in the journal."""
        del self.records[-count:]
        self.add(ts, "drop", lost=count)


def _named(broker: Broker) -> Record:
    return {"cluster": broker.cluster, "broker": broker.name, "addr": broker.addr, "bid": broker.bid}


def _attributes(broker: Broker) -> Record:
    return {**_named(broker), "timeout_ms": TIMEOUT_MS, "ha": None, "zone": broker.zone, "acting": False}


def worked_example() -> Journals:
    """Two name servers and two brokers; n2 does not hear broker-b between 62 s and 302 s. It ends at 400 s.

    The data version of broker-a changes with each registration, so versions tell the clocks.
    """
    a, b = Broker("broker-a", "10.0.0.1:10911"), Broker("broker-b", "10.0.0.2:10911")
    order = topic("order_topic")
    journals = {ns: Journal(0, ns) for ns in ("n1", "n2")}
    steps = sorted([(t, a) for t in range(1, 400, 30)] + [(t, b) for t in range(2, 400, 30)])
    for second, broker in steps:
        for ns, journal in journals.items():
            unheard = ns == "n2" and broker is b and 62 < second < 302
            if ns == "n2" and second >= 185 and b in journal.alive and journal.alive[b] == 62 * SECOND:
                journal.down(185 * SECOND, b, "expired")
            if unheard:
                continue
            journal.register(second * SECOND, broker, [order], version=second if broker is a else 1)
    return {ns: journal.records for ns, journal in journals.items()}


# What part of the name servers of random journals is watched from outside.
WATCHED = 0.4
# What part of the boots of those that are watched did not list their topics.
UNLISTED = 0.15
# What an observer's journal does not have.
NOT_SEEN = ("gap", "dvt", "dvc", "dvs", "timeout_ms", "ha")
SEEN_KINDS = ("open", "start", "stop", "reg", "down", "tput", "tdel", "snap", "alive", "kv")


def seen_from_outside(records: Sequence[Record], chance: random.Random) -> list[Record]:
    """The journal that an observer of this name server might have written, with looks up to 150 s apart."""
    seen: list[Record] = []
    snaps: dict[int, int] = {}
    seq = 0
    ends: dict[str, Any] = {}
    for record in records:
        if record["ev"] not in SEEN_KINDS or (ends and _names_topics(record)):
            continue
        seq = 1 if record["ev"] == "open" and record["file"] == 1 else seq + 1
        known = {name: value for name, value in record.items() if name not in NOT_SEEN} | {"seq": seq}
        if record["ev"] == "snap":
            known["snap"] = snaps.setdefault(record["snap"], seq) if record["part"] else seq
            snaps[record["snap"]] = known["snap"]
        elif record["ev"] in ("reg", "down", "tput", "tdel", "kv", "stop"):
            known["since"] = record["ts"] - chance.choice((0, 1000, SECOND, 5 * SECOND, 20 * SECOND, 150 * SECOND))
        if "cause" in known:
            known["cause"] = "observed"
        if record["ev"] == "down":
            known["asked"] = chance.choice((None, "answered", "refused", "silent"))
        if record["ev"] == "start":
            ends = {"no_topics": True} if chance.random() < UNLISTED else {}
        if record.get("end"):
            known |= ends
        seen.append(known | ({"observed": True} if record["ev"] == "start" else {}))
        if record["ev"] == "start":
            seq += 1
            seen.append({"boot": record["boot"], "seq": seq, "ts": record["ts"], "ev": "snap", "snap": seq, "part": 0,
                         "end": True, **ends})  # fmt: skip
    return seen


def _names_topics(record: Record) -> bool:
    return record["ev"] in ("tput", "tdel") or (record["ev"] == "snap" and record.get("topics") is not None)


def random_journals(seed: int, *, start_us: int = DAY_START, seconds: int = 3600, watched: float = WATCHED) -> Journals:
    """What 2-3 name servers would have written about up to 4 brokers and 4 topics, with every kind of fault. The part
    ``watched`` of them is watched from outside."""
    chance = random.Random(seed)
    brokers = _random_brokers(chance)
    names = [f"n{i}" for i in range(1, chance.randint(2, 3) + 1)]
    journals = {
        ns: _random_journal(chance, Journal(start_us + chance.randint(0, 5) * SECOND, ns), brokers, start_us, seconds)
        for ns in names
    }
    watching = random.Random(f"watching {seed}")
    return {
        ns: seen_from_outside(records, watching) if watching.random() < watched else records
        for ns, records in journals.items()
    }


def _random_brokers(chance: random.Random) -> list[Broker]:
    letters = "abcd"[: chance.randint(1, 4)]
    zones = {"a": "east", "b": "west", "c": "west"}
    brokers = [Broker(f"broker-{c}", f"10.0.0.{i}:10911", zone=zones.get(c)) for i, c in enumerate(letters, 1)]
    if chance.random() < 0.5:
        brokers.append(Broker(brokers[0].name, "10.0.1.1:10911", bid=1))
    return brokers


def _random_journal(
    chance: random.Random, journal: Journal, brokers: Sequence[Broker], start_us: int, seconds: int
) -> list[Record]:
    up, now = True, journal.records[0]["ts"]
    while True:
        # Equal times are wanted: records with the same time are to be applied together.
        now += chance.choice((0, 0, 1000, SECOND, 10 * SECOND, 30 * SECOND, 150 * SECOND))
        if now >= start_us + seconds * SECOND:
            return journal.records
        if not up or chance.random() < 0.02:
            up = _stop_or_start(chance, journal, now, up)
        elif chance.random() < 0.1:
            _random_aside(chance, journal, now)
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


def _random_aside(chance: random.Random, journal: Journal, now: int) -> None:
    draw = chance.random()
    if draw < 0.3:
        journal.snapshot(now)
    elif draw < 0.4:
        journal.open_file(now)
    elif draw < 0.42:
        journal.add(now, "stall", ms=chance.choice((1_500, 20_000, 150_000)))
    elif draw < 0.45:
        journal.add(now, "kv", ns_key="ORDER_TOPIC_CONFIG", key="T", val=chance.choice(("broker-a:4", None)))
    elif draw < 0.5:
        journal.add(now, "alive")
    else:
        asked = chance.randint(1, 50)
        client = chance.choice(("10.0.9.1:4001", "10.0.9.2:4002", None, "*"))
        name = "*" if client == "*" else chance.choice(("T", "U", "V", "%RETRY%g", "gone"))
        journal.lookup(now, name, asked, chance.randint(0, asked), client)


def _random_step(chance: random.Random, journal: Journal, now: int, broker: Broker) -> None:
    draw = chance.random()
    if broker not in journal.alive or draw < 0.1:
        journal.register(now, broker, _random_topics(chance), chance.randint(1, 3))
    elif draw < 0.65:
        journal.heartbeat(now, broker, chance.randint(1, 3))
    elif draw < 0.8:
        causes = ("unregister", "expired", "unconfirmed", "refused", "channel_close", "channel_exception")
        journal.down(now, broker, chance.choice(causes))
    elif draw < 0.92:
        journal.put(now, broker.name, _random_topics(chance))
    else:
        journal.delete(now, broker.name, chance.sample("TUV", k=1))


def _random_topics(chance: random.Random) -> list[Record]:
    names = ("T", "U", "V", "%RETRY%g")
    sizes = (1, 2, 4, 8)
    return [
        topic(name, chance.choice(sizes), chance.choice(sizes), chance.choice((2, 4, 6, 6, 6)))
        for name in names
        if chance.random() < 0.7
    ]


def write_files(journals: Mapping[str, Sequence[Record]], folder: Path) -> list[Path]:
    """The journals as files, ``v=1/dt=…/ns=…/<boot>-<file no>.jsonl`` under the folder; each ``open`` begins one."""
    written: list[Path] = []
    for ns, records in journals.items():
        for record in records:
            if record["ev"] == "open":
                name = f"{record['boot']}-{record['file']:06}.jsonl"
                written.append(folder / "v=1" / f"dt={utc_date(record['ts'])}" / f"ns={ns}" / name)
                written[-1].parent.mkdir(parents=True, exist_ok=True)
            with written[-1].open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
    return written


def utc_date(ts: int) -> str:
    return datetime.fromtimestamp(ts // SECOND, UTC).date().isoformat()


def events_frame(spark: SparkSession, journals: Mapping[str, Sequence[Record]]) -> DataFrame:
    """The journals as the frame that the jobs take; ``dt`` is each record's own date."""
    return spark.createDataFrame(events_table(journals), EVENTS)


def events_table(journals: Mapping[str, Sequence[Record]]) -> pa.Table:
    """The same for DuckDB, and the way into Spark that starts no Python worker."""
    rows = [
        {**record, "ns": ns, "dt": utc_date(record["ts"])} for ns, records in journals.items() for record in records
    ]
    return pa.Table.from_pylist(rows, schema=_ARROW_EVENTS)


def observed(journals: Mapping[str, Sequence[Record]]) -> tuple[int, int]:
    """First record's time and one second after the last one's."""
    times = [record["ts"] for records in journals.values() for record in records]
    return min(times), max(times) + SECOND
