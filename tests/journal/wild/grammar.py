"""What may happen to a name server: requests, closed connections, time, snapshots, restarts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from interop.harness import codes
from interop.harness.payloads import compressed_body


@dataclass(frozen=True)
class Ask:
    """One request on a connection. ``applied``: waiting unregistrations are applied right after it."""

    connection: int
    code: int
    ext: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    version: int = 513
    applied: bool = True


@dataclass(frozen=True)
class Close:
    """A connection ends. ``stalled``: while the server did not run, so its brokers stay, unconfirmed."""

    connection: int
    stalled: bool = False


@dataclass(frozen=True)
class Pass:
    """Time passes; then brokers that are overdue expire, and the journal's periodic work begins."""

    ms: int


@dataclass(frozen=True)
class Work:
    """So many steps of the journal's waiting work, such as a snapshot."""

    steps: int


@dataclass(frozen=True)
class Switch:
    """A property is changed."""

    name: str
    value: bool


@dataclass(frozen=True)
class Restart:
    """Killed or stopped, and started again."""

    kill: bool = True


Step = Ask | Close | Pass | Work | Switch | Restart


CLUSTERS = ("C", "D", 'E\u00fc"\\', "")
# No two of them share a bucket of Java's map: see docs/reliability.md about 311 to 313.
NAMES = ("ba", "bc", "bd", "\u65e5\\ud800\n", "b\ud800", "")
ADDRS = ("a:1", "a:2", "a:3", "\u00e9:4")
IDS = ("0", "0", "0", "1", "1", "2", "-1", "2147483648", "9223372036854775807", "-9223372036854775808", "x")
ZONES = (None, None, None, "z1", "Z1", "z2", "")
TIMEOUTS = (None, None, "50", "120000", "0", "-1", "4000000000", "9223372036854775807", "x")
TOPICS = ("T", "U", "V", "W", "X", "ba", "rmq_sys_SYNC_BROKER_MEMBER_ba", '\u00fc\\n"', "T\udfff", "\\udfff", "")
QUEUES = (0, 1, 4, 8, -1, 2147483647)
PERMS = (6, 6, 6, 4, 2, 0, 7)
ACTING = (None, "true", "true", "false", "yes")
VERSIONS = (0, 36, 37, 400, 401, 413, 513, 600)
CONNECTIONS = 5
SWITCHES = ("supportActingMaster", "deleteTopicWithBrokerRegistration")
UNKNOWN = ("nobody", "\ud83d")


class Maker:
    """Makes one step from its own random numbers."""

    def __init__(self, seed: str, number: int) -> None:
        self.random = random.Random(f"{seed}/{number}")

    def one(self, values: Sequence[Any]) -> Any:
        return self.random.choice(values)

    def rarely(self, share: float = 0.1) -> bool:
        return self.random.random() < share

    def ask(self, code: int, ext: dict[str, str | None], body: bytes = b"", version: int = 513) -> Ask:
        given = {name: value for name, value in ext.items() if value is not None and not self.rarely(0.01)}
        return Ask(self.random.randrange(CONNECTIONS), code, given, body, version, not self.rarely(0.3))

    def broker(self) -> dict[str, str | None]:
        """Mostly the same id and cluster of an address; now and then any."""
        addr = self.one(ADDRS)
        usual = random.Random(f"{addr}")
        home = {"clusterName": usual.choice(CLUSTERS), "brokerName": usual.choice(NAMES[:3]),
                "brokerId": usual.choice(IDS[:6])}  # fmt: skip
        anything = {"clusterName": self.one(CLUSTERS), "brokerName": self.one(NAMES), "brokerId": self.one(IDS)}
        return {"brokerAddr": addr} | {key: anything[key] if self.rarely(0.35) else home[key] for key in home}

    def version(self) -> dict[str, int | None] | None:
        if self.rarely(0.1):
            return None
        counter = self.one((0, 1, 1, 2, None, 2**63 - 1))
        return {"counter": counter, "stateVersion": self.one((0, 0, 0, 1, -5, 2**62)),
                "timestamp": self.one((0, 1, -1, 1_700_000_000_000))}  # fmt: skip

    def topic(self, name: str) -> dict[str, Any]:
        named = self.one((*TOPICS, None)) if self.rarely(0.05) else name
        return {"topicName": named, "readQueueNums": self.one(QUEUES), "writeQueueNums": self.one(QUEUES),
                "perm": self.one(PERMS), "topicSysFlag": self.random.randrange(4)}  # fmt: skip

    def topics(self) -> dict[str, Any] | None:
        if self.rarely(0.05):
            return None
        names = self.random.sample(TOPICS, self.one((0, 1, 1, 2, 2, 3, 4, 6)))
        if self.rarely(0.02):
            names += [f"split-{number}" for number in range(self.random.randrange(90, 120))]
        return {name: self.topic(name) for name in names}

    def mappings(self) -> dict[str, Any]:
        if not self.rarely(0.2):
            return {}
        ids = self.one(({}, {"0": 1}, {"1": 0, "0": 3, "-1": 2}, None))
        info = {"topic": self.one((*TOPICS, None)), "bname": self.one((*NAMES, None)), "currIdMap": ids,
                "dirty": self.one((True, False)),
                "epoch": self.one((0, 5, -1, 2**63 - 1)), "scope": self.one((None, "__global__", "s")),
                "totalQueues": self.one(QUEUES)}  # fmt: skip
        return {self.one(TOPICS): info}

    def filters(self) -> list[str | None] | None:
        return self.one((None, [], [], ["f:1"], ["f:1", None, "\ud800"]))


def dumps(value: Any) -> bytes:
    """JSON in ASCII: it may hold lone surrogates."""
    return json.dumps(value, separators=(",", ":")).encode()


def _register(maker: Maker) -> Step:
    version = maker.one(VERSIONS) if maker.rarely(0.2) else 513
    wrapper = {"dataVersion": maker.version(), "topicConfigTable": maker.topics(),
               "topicQueueMappingInfoMap": maker.mappings()}  # fmt: skip
    whole = {"filterServerList": maker.filters(), "topicConfigSerializeWrapper": wrapper}
    odd = (b"", b"{}", b"null", dumps({"topicConfigSerializeWrapper": None}))
    body = maker.one(odd) if maker.rarely(0.07) else dumps(wrapper if version < 37 else whole)
    zone = maker.one(ZONES)
    ext = maker.broker() | {
        "haServerAddr": maker.one((None, "h:1", "h:2", "")), "enableActingMaster": maker.one(ACTING),
        "heartbeatTimeoutMillis": maker.one(TIMEOUTS), "__ZONE_NAME": zone,
    }  # fmt: skip
    return maker.ask(codes.REGISTER_BROKER, ext, body, version)


def _register_compressed(maker: Maker) -> Step:
    names = [
        name for name in maker.random.sample(TOPICS, 3) if name.isascii() and name.isprintable() and " " not in name
    ]
    topics = [{"topicName": name, "readQueueNums": 1, "writeQueueNums": 2, "perm": 6} for name in names if name]
    body = compressed_body(topics, {"counter": 3, "stateVersion": 0, "timestamp": 9}, filters=())
    return maker.ask(codes.REGISTER_BROKER, maker.broker() | {"compressed": "true"}, body)


def _unregister(maker: Maker) -> Step:
    return maker.ask(codes.UNREGISTER_BROKER, maker.broker())


def _heartbeat(maker: Maker) -> Step:
    return maker.ask(codes.BROKER_HEARTBEAT, maker.broker())


def _query(maker: Maker) -> Step:
    return maker.ask(codes.QUERY_DATA_VERSION, maker.broker(), dumps(maker.version()))


def _register_topic(maker: Maker) -> Step:
    names = maker.random.sample((*NAMES, *UNKNOWN), maker.random.randrange(3))
    queues = [maker.topic("") | {"brokerName": name} for name in names]
    return maker.ask(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": maker.one(TOPICS)}, dumps({"queueDatas": queues}))


def _delete_topic(maker: Maker) -> Step:
    ext = {"topic": maker.one(TOPICS), "clusterName": maker.one((None, None, *CLUSTERS))}
    return maker.ask(codes.DELETE_TOPIC_IN_NAMESRV, ext)


def _permission(maker: Maker) -> Step:
    code = maker.one((codes.WIPE_WRITE_PERM_OF_BROKER, codes.ADD_WRITE_PERM_OF_BROKER))
    return maker.ask(code, {"brokerName": maker.one(NAMES)})


def _close(maker: Maker) -> Step:
    return Close(maker.random.randrange(CONNECTIONS), maker.rarely(0.3))


def _pass(maker: Maker) -> Step:
    return Pass(maker.one((1, 51, 5_000, 60_000, 121_000, 3_600_000)))


def _work(maker: Maker) -> Step:
    return Work(maker.one((1, 2, 5, 1_000)))


def _switch(maker: Maker) -> Step:
    return Switch(maker.one(SWITCHES), maker.one((True, False)))


def _restart(maker: Maker) -> Step:
    return Restart(not maker.rarely(0.3))


KINDS: tuple[tuple[Callable[[Maker], Step], int], ...] = (
    (_register, 40), (_register_compressed, 2), (_unregister, 12), (_heartbeat, 4), (_query, 4), (_register_topic, 6),
    (_delete_topic, 5), (_permission, 5), (_close, 5), (_pass, 6), (_work, 6), (_switch, 2), (_restart, 4),
)  # fmt: skip


def step(seed: str, number: int) -> Step:
    """The step of a history with this number."""
    maker = Maker(seed, number)
    kinds, weights = zip(*KINDS, strict=True)
    return maker.random.choices(kinds, weights)[0](maker)  # type: ignore[no-any-return]


def history(seed: str) -> list[Step]:
    """A history of this seed. It ends with a restart."""
    length = random.Random(f"{seed}/length").choice((4, 8, 16, 32, 60))
    return [*(step(seed, number) for number in range(length)), Restart(random.Random(seed).random() < 0.8)]
