"""The registrations that brokers send, as whole frames made before any measurement, and the routes they lead to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.plan import MANY_TOPICS
from interop.harness import codes
from interop.harness.payloads import compressed_body, data_version, dumps, register_ext, topic_config
from interop.harness.wire import frame, json_header

# No broker may expire while another server is measured.
LIVE_FOR_MS = 3_600_000
QUEUES, CHANGED_QUEUES = 8, 16
# The time in the first registration. A 5.x broker writes the current time into each, and registers every 30 s.
WRITTEN_MS, PERIOD_MS = 1_800_000_000_000, 30_000
MANY_BROKER = "broker-many"


def topic(number: int) -> str:
    return f"topic-{number:06d}"


def broker_name(number: int) -> str:
    return f"broker-{number:04d}"


def broker_host(number: int, network: int = 10) -> str:
    """Each broker has an address of its own; all addresses of a network have the same length."""
    return f"{network}.{100 + number // 100}.100.{100 + number % 100}"


def registration(broker: str, host: str, body: bytes, *, compressed: bool = False) -> bytes:
    """A whole REGISTER_BROKER frame of a master."""
    more: dict[str, Any] = {"heartbeatTimeoutMillis": LIVE_FOR_MS, "compressed": str(compressed).lower()}
    ext = register_ext("DefaultCluster", broker, f"{host}:10911", body=body, **more)
    return frame(json_header(codes.REGISTER_BROKER, ext), body)


def _entry(queues: int) -> str:
    """The JSON of one topic in a registration, with %(t)s in place of its name."""
    return dumps({"%(t)s": topic_config("%(t)s", queues, queues)})[1:-1].decode()


def plain_body(
    numbers: Iterable[int], version: int, changed: frozenset[int] = frozenset(), written_ms: int = WRITTEN_MS
) -> bytes:
    """The JSON body of a 5.x broker (each field of RegisterBrokerBody); the ``changed`` topics have more queues."""
    usual, other = _entry(QUEUES), _entry(CHANGED_QUEUES)
    table = ",".join((other if n in changed else usual) % {"t": topic(n)} for n in numbers)
    body = {
        "filterServerList": [],
        "topicConfigSerializeWrapper": {
            "dataVersion": data_version(version, 1_700_000_000_000 + version),
            "mappingDataVersion": data_version(0, written_ms),
            "topicConfigTable": "TABLE",
            "topicQueueMappingDetailMap": {},
            "topicQueueMappingInfoMap": {},
        },
    }
    return dumps(body).replace(b'"TABLE"', b"{" + table.encode() + b"}")


def route_body(brokers: Iterable[int]) -> bytes:
    """TopicRouteData of a topic on these brokers in standard JSON; the simple C server sends it."""
    numbers = sorted(brokers)
    datas = [
        {"brokerAddrs": {"0": f"{broker_host(n)}:10911"}, "brokerName": broker_name(n), "cluster": "DefaultCluster",
         "enableActingMaster": False}
        for n in numbers
    ]  # fmt: skip
    queues = [
        {"brokerName": broker_name(n), "perm": 6, "readQueueNums": QUEUES, "topicSysFlag": 0, "writeQueueNums": QUEUES}
        for n in numbers
    ]
    return dumps({"brokerDatas": datas, "filterServerTable": {}, "queueDatas": queues})


def spread(number: int, brokers: int, topics: int, width: int) -> list[int]:
    """The topics of broker ``number``, where ``topics`` are shared so that each is on ``width`` successive brokers."""
    return sorted(t for back in range(width) for t in range((number - back) % brokers, topics, brokers))


@dataclass(frozen=True)
class ManyTopics:
    """Registrations of one broker with MANY_TOPICS topics."""

    first: bytes
    # Each with a new data version and another changed topic, as a broker sends after a change.
    changed: list[bytes]
    # The topics and versions of the last changed one, each with a later time, as a 5.x broker sends every 30 s.
    unchanged: list[bytes]
    compressed: list[bytes]

    @classmethod
    def make(cls, count: int) -> ManyTopics:
        return cls(
            first=cls._frame(0),
            changed=[cls._frame(n) for n in range(1, count + 1)],
            unchanged=[cls._frame(count, periods) for periods in range(1, count + 1)],
            compressed=[cls._compressed(n) for n in range(count + 1, 2 * count + 1)],
        )

    @staticmethod
    def _frame(number: int, periods: int = 0) -> bytes:
        """``number`` is the version; the time in it is so many periods after that change."""
        written_ms = WRITTEN_MS + (number + periods) * PERIOD_MS
        body = plain_body(range(MANY_TOPICS), number + 1, frozenset([number]), written_ms)
        return registration(MANY_BROKER, broker_host(999), body)

    @staticmethod
    def _compressed(number: int) -> bytes:
        topics = [topic_config(topic(t)) for t in range(MANY_TOPICS)]
        topics[number] = topic_config(topic(number), CHANGED_QUEUES, CHANGED_QUEUES)
        body = compressed_body(topics, data_version(number + 1, 1_700_000_000_000 + number))
        return registration(MANY_BROKER, broker_host(999), body, compressed=True)
