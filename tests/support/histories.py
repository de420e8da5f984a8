"""One grammar of what peers do to a name server, all of it drawn from a seed.

`step(seed, number)` is one step of a history and `history(seed)` a whole one; each step has random numbers of its own,
so that any part of a history can be played alone. `Peers` says whom they have: names, ids, versions, and how odd the
requests are. The simulation and the tests of restarts play `WILD` ones, interop/parity plays those of which Java leaves
nothing open, the strangers of tests/hostile have long names and many of them, the soak of tests/sanitize short ones.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import orjson

from interop.harness import codes
from interop.harness.payloads import compressed_body, topic_config
from interop.harness.wire import ROCKETMQ, binary_header, frame

Item = TypeVar("Item")
REGISTER, UNREGISTER, QUERY, PUT_TOPIC = 103, 104, 322, 217
FIRST_WITH_BODY, FIRST_WITH_MAPPINGS = 37, 413


@dataclass(frozen=True)
class Ask:
    """One request on a connection. ``body`` is compressed when it is sent if ``deflated``.

    ``waits``: the next step comes after the answer.
    """

    connection: int
    code: int
    ext: Mapping[str, str] | None = None
    body: bytes = b""
    version: int = 513
    binary: bool = False
    deflated: bool = False
    waits: bool = True

    def frame(self, opaque: int = 1, flag: int = 0) -> bytes:
        """JSON is ASCII: it may hold lone surrogates."""
        body = zlib.compress(self.body) if self.deflated else self.body
        if self.binary:
            ext = dict(self.ext) if self.ext is not None else None
            return frame(binary_header(self.code, ext, version=self.version, opaque=opaque, flag=flag), body, ROCKETMQ)
        header = {"code": self.code, "extFields": self.ext, "flag": flag, "language": "JAVA", "opaque": opaque,
                  "serializeTypeCurrentRPC": "JSON", "version": self.version}  # fmt: skip
        return frame(dumps({name: value for name, value in header.items() if value is not None}), body)


@dataclass(frozen=True)
class Close:
    """A connection ends. ``stalled``: while the server does not run, so its brokers stay, unconfirmed."""

    connection: int
    stalled: bool = False


@dataclass(frozen=True)
class Pass:
    """Time passes."""

    ms: int


@dataclass(frozen=True)
class Restart:
    """Killed or stopped, and started again."""

    kill: bool = True


Step = Ask | Close | Pass | Restart
Steps = tuple[Step, ...]

CONNECTIONS = 5
WHOLE_HOUR_MS = 3_600_000
VALUES = (
    *("", "0", "1", "-1", "+1", " 1", "1 ", "007", "1.0", "1e2", "0x10", "1_000", "-0", "--1", "2147483648"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "\u0661", "Infinity"),
    *("true", "TRUE", "false", "yes", "null", "a b", "\n", "\0", "\u00fc", "\U0001f600", "x" * 300),
)  # fmt: skip


@dataclass(frozen=True)
class Peers:
    """``homes``: the cluster, the group and the id that a broker's address has, mostly; id None: any.

    ``strays`` is how often it has others. ``odd`` 0: requests are whole. ``crowds`` is how often a body has up to
    ``most`` topics more. ``careful``: only that of which Java leaves nothing open. Each address has a connection of its
    own, because Java may let any broker of a shared one go; a single topic comes after a whole table, because refused
    it would leave an empty group; a topic has the same flag everywhere, because 311 to 313 judge it by any broker's.
    """

    homes: Mapping[str, tuple[str, str, str | None]]
    clusters: Sequence[str]
    names: Sequence[str]
    topics: Sequence[str]
    ids: Sequence[str] = ("0", "0", "0", "1", "1", "2", "3")
    queues: Sequence[int] = (1, 2, 3)
    perms: Sequence[int] = (2, 4, 6, 6, 7)
    counters: Sequence[int | None] = (1, 2, 3)
    states: Sequence[int] = (0, 0, 0, 1)
    timestamps: Sequence[int] = (1_700_000_000_000,)
    acting: Sequence[str | None] = (None, "false", "true", "true")
    zones: Sequence[str | None] = (None, None, "z1", "z2")
    ha_addrs: Sequence[str | None] = ("h:1", "h:2")
    timeouts: Sequence[str | None] = (None,)
    filters: Sequence[Sequence[str | None] | None] = ((), (), ("f:1",))
    forms: Sequence[tuple[bool, int]] = ((False, 513),)
    oldest: int = 0
    namespaces: Sequence[str] = ("n", "o")
    keys: Sequence[str] = ("k", "l")
    switches: Sequence[str] = ("supportActingMaster", "deleteTopicWithBrokerRegistration")
    strays: float = 0.0
    odd: float = 0.0
    crowds: float = 0.0
    most: int = 0
    careful: bool = False


# No two names share a bucket of Java's map: see docs/reliability.md about 311 to 313.
WILD = Peers(
    homes={"a:1": ("C", "ba", "0"), "a:2": ("C", "ba", "1"), "a:3": ("D", "bc", "0"),
           "\u00e9:4": ('E\u00fc"\\', "bd", "2")},
    clusters=("C", "D", 'E\u00fc"\\', ""),
    names=("ba", "bc", "bd", "\u65e5\\ud800\n", "b\ud800", ""),
    topics=("T", "U", "V", "W", "X", "ba", "rmq_sys_SYNC_BROKER_MEMBER_ba", '\u00fc\\n"', "T\udfff", "\\udfff", ""),
    ids=("0", "0", "0", "1", "1", "2", "-1", "2147483648", "9223372036854775807", "-9223372036854775808", "x"),
    queues=(0, 1, 4, 8, -1, 2147483647), perms=(6, 6, 6, 4, 2, 0, 7),
    counters=(0, 1, 1, 2, None, 2**63 - 1), states=(0, 0, 0, 1, -5, 2**62), timestamps=(0, 1, -1, 1_700_000_000_000),
    acting=(None, "true", "true", "false", "yes"), zones=(None, None, None, "z1", "Z1", "z2", ""),
    ha_addrs=(None, "h:1", "h:2", ""),
    timeouts=(None, None, "50", "120000", "0", "-1", "4000000000", "9223372036854775807", "x"),
    filters=(None, (), (), ("f:1",), ("f:1", None, "\ud800")),
    forms=((False, 513),) * 12 + tuple((False, version) for version in (0, 36, 37, 400, 401, 413, 600)),
    strays=0.35, odd=1.0, crowds=0.02, most=120,
)  # fmt: skip
NOBODY = ("nobody", "\ud83d")


def dumps(value: Any) -> bytes:
    """JSON in ASCII: it may hold lone surrogates."""
    return json.dumps(value, separators=(",", ":")).encode()


BOUNDARIES = (0, 1, 127, 128, 255, 256, 4_095, 4_096, 4_097, 32_767, 32_768, 65_535, 65_536, 1 << 20)


def size(chance: random.Random, most: int) -> int:
    """0 to ``most``: all orders of magnitude alike, and often a boundary or the most."""
    kind = chance.random()
    if kind < 0.2:
        return most
    if kind < 0.35:
        return chance.choice([one for one in BOUNDARIES if one <= most])
    return int(most ** chance.random()) if most else 0


class Maker:
    """Makes one step from its own random numbers."""

    def __init__(self, chance: random.Random, peers: Peers) -> None:
        self.random, self.peers = chance, peers
        self.binary, self.version = chance.choice(peers.forms)

    def one(self, values: Sequence[Item]) -> Item:
        return self.random.choice(values)

    def rarely(self, share: float = 0.1) -> bool:
        return self.random.random() < share * self.peers.odd

    def ask(self, code: int, ext: Mapping[str, str | None] | None = None, body: bytes = b"", **more: Any) -> Ask:
        given = {name: value for name, value in (ext or {}).items() if value is not None and not self.rarely(0.01)}
        addresses = list(self.peers.homes)
        is_own = self.peers.careful and given.get("brokerAddr") in addresses
        connection = addresses.index(given["brokerAddr"]) if is_own else self.random.randrange(CONNECTIONS)
        form = {"version": self.version, "binary": self.binary, "waits": not self.rarely(0.3)}
        return Ask(connection, code, given, body, **form | more)

    def broker(self) -> dict[str, str | None]:
        peers, addr = self.peers, self.one(list(self.peers.homes))
        cluster, name, broker_id = peers.homes[addr]
        home: dict[str, str | None] = {"clusterName": cluster, "brokerName": name,
                                       "brokerId": broker_id or self.one(peers.ids)}  # fmt: skip
        away = {"clusterName": peers.clusters, "brokerName": peers.names, "brokerId": peers.ids}
        strays = {field: self.one(values) for field, values in away.items() if self.random.random() < peers.strays}
        return {"brokerAddr": addr} | home | strays

    def data_version(self) -> dict[str, int | None] | None:
        peers = self.peers
        version = {"counter": self.one(peers.counters), "stateVersion": self.one(peers.states),
                   "timestamp": self.one(peers.timestamps)}  # fmt: skip
        return None if self.rarely() else version

    def topic(self, name: str) -> dict[str, Any]:
        peers = self.peers
        flag = peers.topics.index(name) % 4 if name in peers.topics and peers.careful else self.random.randrange(4)
        made = topic_config(name, self.one(peers.queues), self.one(peers.queues), self.one(peers.perms), flag)
        if not self.rarely(0.05):
            return made
        other = self.one((*peers.topics, None))
        return made | {"topicName": other and self.short(other)}

    def short(self, name: str) -> str:
        """So that a crowd's registration has some MB, not some GB."""
        return name[: 4_000_000 // max(1, self.peers.most)]

    def topics(self, names: Sequence[str], count: int) -> list[str]:
        drawn = self.random.sample(names, min(count, len(names)))
        if self.random.random() < self.peers.crowds:
            stem = self.short(self.one(names))
            drawn += [f"{stem}{number}" for number in range(size(self.random, self.peers.most))]
        return drawn

    def mappings(self) -> dict[str, Any]:
        def one() -> dict[str, Any]:
            ids = self.one(({}, {"0": 1}, {"1": 0, "0": 3, "-1": 2}, None))
            return {"topic": self.one((*self.peers.topics, None)), "bname": self.one((*self.peers.names, None)),
                    "currIdMap": ids, "dirty": self.one((True, False)), "epoch": self.one((0, 5, -1, 2**63 - 1)),
                    "scope": self.one((None, "__global__", "s")),
                    "totalQueues": self.one(self.peers.queues)}  # fmt: skip

        return {self.one(self.peers.topics): one() for _ in range(self.rarely(0.2))}

    def registration(self, who: Mapping[str, str | None], count: int, **more: str) -> Ask:
        """Of so many topics. A compressed body has no flags, and its names no spaces."""
        peers, version = self.peers, max(self.version, self.peers.oldest)
        filters, dated = self.one(peers.filters), self.data_version()
        deflated = version >= FIRST_WITH_BODY and self.random.random() < 0.06
        if deflated:
            plain = [
                name
                for number, name in enumerate(peers.topics)
                if name.isascii() and name.isprintable() and " " not in name and name and number % 4 == 0
            ]
            table = [self.topic(name) | {"topicName": name} for name in self.topics(plain or ["T"], count)]
            mappings = () if version >= FIRST_WITH_MAPPINGS else None
            some = tuple(one for one in filters or () if one and one.isascii())
            body = zlib.decompress(compressed_body(table, dated, filters=some, mapping=mappings))  # type: ignore[arg-type]
        else:
            by_name = {name: self.topic(name) for name in self.topics(peers.topics, count)}
            wrapper = {"dataVersion": dated, "topicConfigTable": None if self.rarely(0.05) else by_name,
                       "topicQueueMappingInfoMap": self.mappings()}  # fmt: skip
            whole = {"filterServerList": filters, "topicConfigSerializeWrapper": wrapper}
            body = dumps(wrapper if version < FIRST_WITH_BODY else whole)
        if self.rarely(0.07) and not deflated:
            body = self.one((b"", b"{}", b"null", dumps({"topicConfigSerializeWrapper": None})))
        ext = {"haServerAddr": self.one(peers.ha_addrs), "enableActingMaster": self.one(peers.acting),
               "heartbeatTimeoutMillis": self.one(peers.timeouts), "__ZONE_NAME": self.one(peers.zones),
               "compressed": "true" if deflated else None}  # fmt: skip
        return self.ask(REGISTER, {**who, **ext, **more}, body, version=version, deflated=deflated)


def register(maker: Maker) -> Steps:
    who, count = maker.broker(), maker.one((0, 1, 1, 2, 2, 3, 4, 6))
    first = (maker.registration(who, 2),) if count == 1 and maker.peers.careful else ()
    return (*first, maker.registration(who, count))


def register_again(maker: Maker) -> Steps:
    """A broker as it always is, with one other field."""
    peers, addr = maker.peers, maker.one(list(maker.peers.homes))
    cluster, name, broker_id = peers.homes[addr]
    who = {"brokerAddr": addr, "clusterName": cluster, "brokerName": name, "brokerId": broker_id or peers.ids[0]}
    other = maker.one((("enableActingMaster", peers.acting), ("__ZONE_NAME", peers.zones),
                       ("heartbeatTimeoutMillis", peers.timeouts), ("haServerAddr", peers.ha_addrs)))  # fmt: skip
    usual = Maker(random.Random(addr), replace(peers, odd=0.0, crowds=0.0)).registration(who, 2)
    value = maker.one(other[1])
    return (replace(usual, ext={**(usual.ext or {}), **({} if value is None else {other[0]: value})}),)


def unregister(maker: Maker) -> Steps:
    return (maker.ask(UNREGISTER, maker.broker()),)


def overdue(maker: Maker) -> Steps:
    """A registration that is overdue at once. Without a topic it cannot be refused."""
    return maker.registration(maker.broker(), 0, heartbeatTimeoutMillis="0"), Pass(6_000)


def heartbeat(maker: Maker) -> Steps:
    return (maker.ask(codes.BROKER_HEARTBEAT, maker.broker()),)


def query(maker: Maker) -> Steps:
    return (maker.ask(QUERY, maker.broker(), dumps(maker.data_version())),)


def register_topic(maker: Maker) -> Steps:
    name = maker.one(maker.peers.topics)
    groups = maker.random.sample((*maker.peers.names, *(NOBODY if maker.peers.odd else NOBODY[:1])), 2)
    queues = [maker.topic(name) | {"brokerName": group} for group in groups[: maker.random.randrange(1, 3)]]
    return (maker.ask(PUT_TOPIC, {"topic": name}, dumps({"queueDatas": queues})),)


def delete_topic(maker: Maker) -> Steps:
    ext = {"topic": maker.one(maker.peers.topics), "clusterName": maker.one((None, None, *maker.peers.clusters))}
    return (maker.ask(codes.DELETE_TOPIC_IN_NAMESRV, ext),)


def permission(maker: Maker) -> Steps:
    wipe, add = codes.WIPE_WRITE_PERM_OF_BROKER, codes.ADD_WRITE_PERM_OF_BROKER
    return (maker.ask(maker.one((wipe, wipe, add)), {"brokerName": maker.one(maker.peers.names)}),)


def kv(maker: Maker) -> Steps:
    place = {"namespace": maker.one(maker.peers.namespaces), "key": maker.one(maker.peers.keys)}
    if maker.random.random() < 0.3:
        place = {"namespace": "ORDER_TOPIC_CONFIG", "key": maker.one(maker.peers.topics)}
    code = maker.one((codes.PUT_KV_CONFIG, codes.PUT_KV_CONFIG, codes.DELETE_KV_CONFIG, codes.GET_KV_CONFIG,
                      codes.GET_KVLIST_BY_NAMESPACE))  # fmt: skip
    value = {"value": f"v{maker.random.randrange(9)}"} if code == codes.PUT_KV_CONFIG else {}
    return (maker.ask(code, place | value),)


def route(maker: Maker) -> Steps:
    zone = {"__ZONE_MODE": "true", "__ZONE_NAME": "z1"} if maker.random.random() < 0.3 else {}
    return (maker.ask(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": maker.one(maker.peers.topics)} | zone),)


def look(maker: Maker) -> Steps:
    who = maker.broker()
    group = {"brokerName": who["brokerName"], "clusterName": who["clusterName"]}
    code = maker.one((106, 901, 224, 206, 304, 311, 312, 313))
    return (maker.ask(code, group if code == 901 else {"cluster": who["clusterName"]} if code == 224 else {}),)


def switch(maker: Maker) -> Steps:
    text = f"{maker.one(maker.peers.switches)}={maker.one(('true', 'false'))}"
    return (replace(maker.ask(codes.UPDATE_NAMESRV_CONFIG, None, text.encode()), ext=None),)


def close(maker: Maker) -> Steps:
    count = len(maker.peers.homes) if maker.peers.careful else CONNECTIONS
    return (Close(maker.random.randrange(count), maker.rarely(0.3)),)


def pass_time(maker: Maker) -> Steps:
    return (Pass(maker.one((1, 51, 1_000, 5_000, 11_000, 121_000, WHOLE_HOUR_MS, WHOLE_HOUR_MS))),)


def restart(maker: Maker) -> Steps:
    return (Restart(not maker.rarely(0.3)),)


ODD_CODES = (
    *(100, 101, 102, 105, 106, 205, 206, 216, 217, 219, 224, 304, 311, 312, 313, 319, 322, 327, 901, 904, 905, 0, 9999),
    *(REGISTER, REGISTER, UNREGISTER, 105, QUERY, 901, 100, 216),
)  # fmt: skip
FIELDS = (
    *("topic", "clusterName", "cluster", "brokerName", "brokerAddr", "brokerId", "namespace", "key", "value", "x"),
    *("acceptStandardJsonOnly", "__ZONE_MODE", "__ZONE_NAME", "enableActingMaster", "compressed", "bodyCrc32"),
    *("haServerAddr", "heartbeatTimeoutMillis"),
)  # fmt: skip


def odd(maker: Maker) -> Steps:
    """A request that no real peer writes: any field with any value, any body with any code.

    Left out is what docs/differences.md lists: registrations without name or address, unregistrations with a null.
    """
    peers, chance, code = maker.peers, maker.random, maker.one(ODD_CODES)
    names = (*peers.names, *peers.clusters, *peers.topics, *peers.homes, *peers.namespaces)
    ext: dict[str, str | None] = {name: maker.one(names + VALUES) for name in FIELDS if chance.random() < 0.45}
    if chance.random() < 0.5 or code in (REGISTER, UNREGISTER):
        ids = {"brokerId": maker.one(("0", "1", "7") if code == UNREGISTER else ("0", "1", "2", *VALUES))}
        ext |= maker.broker() | ids | {"topic": maker.one(peers.topics), "cluster": maker.one(peers.clusters)}
        ext |= {"heartbeatTimeoutMillis": maker.one(("abc", "", "60000", "+70000"))}
    queue = {"brokerName": maker.one(peers.names), "perm": 6, "readQueueNums": 1, "topicSysFlag": 0}
    table = {name: topic_config(name) for name in peers.topics[:3] if name.isascii()}
    tables = [dumps({"topicConfigSerializeWrapper": {"dataVersion": {}, "topicConfigTable": table}})] * 2
    queues = [dumps({"queueDatas": [queue | {"perm": perm}]}) for perm in (6, "6 ")]
    plain = (b"", b"{}", b"null", b"[]", b"x", b'""', b"0", b"\xff\xfe", b'{"counter":"1"}')
    bodies = (*plain, *tables, *queues, dumps(maker.data_version()))
    body = maker.one(bodies) if code in (REGISTER, PUT_TOPIC, QUERY) or chance.random() < 0.2 else b""
    asked = maker.ask(code, ext, body)
    return (replace(asked, ext=None) if chance.random() < 0.03 and code != UNREGISTER else asked,)


Kinds = Mapping[Callable[[Maker], Steps], int]
REQUESTS: Kinds = {
    register: 28, register_again: 10, unregister: 10, heartbeat: 3, query: 5, delete_topic: 5, register_topic: 6,
    permission: 6, kv: 6, route: 8, look: 4, switch: 2,
}  # fmt: skip
WHOLE: Kinds = {**REQUESTS, route: 1, look: 1, odd: 3, close: 6, overdue: 2, pass_time: 9, restart: 4}


def steps_of(seed: str, number: int, peers: Peers = WILD, kinds: Kinds = WHOLE) -> Steps:
    """The step of a history with this number, mostly a single one."""
    maker = Maker(random.Random(f"{seed}/{number}"), peers)
    return maker.random.choices(list(kinds), list(kinds.values()))[0](maker)


def history(seed: str, peers: Peers = WILD, kinds: Kinds = WHOLE) -> list[Step]:
    """A history of this seed. It ends with a restart."""
    chance = random.Random(f"{seed}/length")
    steps = [one for number in range(chance.choice((4, 8, 16, 32, 60))) for one in steps_of(seed, number, peers, kinds)]
    return [*steps, Restart(chance.random() < 0.8)]


def damaged(chance: random.Random, data: bytes, first: int = 0) -> bytes:
    """The bytes with a few of them changed from ``first`` on."""
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 4) if len(data) > first else 0):
        changed[chance.randrange(first, len(data))] = chance.randrange(256)
    return bytes(changed)


ODD_VALUES = (
    b"null", b"[]", b"{}", b'"x"', b'""', b"-1", b"0", b"1e400", b"NaN", b"1.5", b"true", b"9223372036854775807",
    b"18446744073709551615", b"99999999999999999999999", b"[" * 900 + b"]" * 900, b'{"a":' * 600 + b"1" + b"}" * 600,
    b'"\\ud800"', b'"' + b"x" * 100_000 + b'"', b'["reg"]', b'{"t":1}', b'[{"t":"T"}]', b"[[1,[2]]]",
)  # fmt: skip
ODD_LINES = (
    b"", b"{}", b"null", b"[1,2]", b"\xff\xfe\x00", b"\x00" * 4096, b"{" * 100_000, b"[" * 100_000, b'"ev"', b"garbage",
    b'{"boot":1}', b'{"boot":1,"seq":1,"ts":1,"ev":"reg"}', b'{"ev":"stop"}', b'{"a":' * 2_000,
)  # fmt: skip
ODD_COLUMNS = ("live", "listed", "acting", "maps", "topics", "escaped", "end", "snap", "fs", "gcluster", "x")


def damaged_line(chance: random.Random, line: bytes) -> bytes:
    """A line of a journal as a disk might damage it, a careless editor, or somebody who means it; without its end."""
    kind = chance.randrange(11)
    if kind < 2:
        new = damaged(chance, line)
    elif kind == 2:
        at = chance.randrange(len(line))
        new = line[:at] if chance.random() < 0.5 else line[at:]
    elif kind == 3:
        new = chance.choice(ODD_LINES)
    else:
        new = _other_columns(chance, line, kind)
    return new.replace(b"\n", b" ")


def _other_columns(chance: random.Random, line: bytes, kind: int) -> bytes:
    values = {name: orjson.dumps(value) for name, value in orjson.loads(line).items()}
    name = chance.choice(list(values))
    if kind == 4:  # twice: the second value counts
        return line[:-1] + b"," + orjson.dumps(name) + b":" + chance.choice(ODD_VALUES) + b"}"
    if kind == 5:
        del values[name]
    elif kind == 6:
        values["seq"] = b"%d" % chance.choice((0, 1, 2**31, 2**62, 2**63 - 1, chance.randrange(500)))
    else:
        values[chance.choice(ODD_COLUMNS) if kind == 7 else name] = chance.choice(ODD_VALUES)
    return b"{" + b",".join(orjson.dumps(name) + b":" + value for name, value in values.items()) + b"}"


def shrink(items: Sequence[Item], fails: Callable[[list[Item]], bool], tries_max: int) -> list[Item]:
    """A short part of a failing list that still fails: leaves out ever smaller pieces as long as it fails without them
    (ddmin)."""
    found, pieces, tries = list(items), 2, 0
    while len(found) > 1:
        size = -(-len(found) // pieces)
        for start in range(0, len(found), size):
            shorter = found[:start] + found[start + size :]
            tries += 1
            if tries > tries_max:
                return found
            if shorter and fails(shorter):
                found, pieces = shorter, max(pieces - 1, 2)
                break
        else:
            if size == 1:
                return found
            pieces = min(pieces * 2, len(found))
    return found


def as_text(numbers: Sequence[int]) -> str:
    """Numbers as command lines take them: ``3,17,20-25``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{one[0]}-{one[-1]}" if len(one) > 1 else str(one[0]) for one in runs)


def from_text(text: str) -> list[int]:
    """The numbers of `as_text`."""
    ends = (part.split("-") for part in text.split(",") if part)
    return [number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)]
