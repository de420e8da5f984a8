"""Brokers that the load is about: some with topics to look up, and one with very many topics that registers again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.plan import BROKERS, MANY_TOPICS, TOPICS, WIDTH
from interop.harness import codes
from interop.harness.payloads import compressed_body, data_version, register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually, frame, json_header

# No broker may expire while another server is measured.
LIVE_FOR_MS = 3_600_000
ANSWER_TIMEOUT_S = 60.0


def topic(number: int) -> str:
    return f"topic-{number:06d}"


def registration(broker: str, host: str, body: bytes, *, compressed: bool = False) -> bytes:
    """A whole REGISTER_BROKER frame of a master."""
    more: dict[str, Any] = {"heartbeatTimeoutMillis": LIVE_FOR_MS, "compressed": str(compressed).lower()}
    ext = register_ext("DefaultCluster", broker, f"{host}:10911", body=body, **more)
    return frame(json_header(codes.REGISTER_BROKER, ext), body)


def send(client: Client, request: bytes) -> None:
    """Send a registration and wait until it is accepted."""
    client.send(request)
    answer = client.receive()
    assert answer.code == 0, f"registration refused: {answer.header}"


def connect(server: NameServer) -> Client:
    return Client(server.port, timeout_s=ANSWER_TIMEOUT_S)


def register_fleet(server: NameServer) -> list[Client]:
    """BROKERS masters that share TOPICS, each topic on WIDTH of them; the connections that keep them registered."""
    clients = []
    for number in range(BROKERS):
        topics = [topic_config(topic(t)) for t in range(TOPICS) if (number - t) % BROKERS < WIDTH]
        clients.append(connect(server))
        send(clients[-1], registration(f"broker-{number}", f"10.0.0.{number + 1}", register_body(topics)))
    return clients


@dataclass(frozen=True)
class ManyTopics:
    """Registrations of one broker with MANY_TOPICS topics, as frames, made before anything is measured."""

    first: bytes
    # A new data version and one other topic each time: what a broker sends after a change.
    changed: list[bytes]
    # The last of the changed ones again: what a broker sends every 30 s.
    unchanged: list[bytes]
    compressed: list[bytes]

    @classmethod
    def make(cls, count: int) -> ManyTopics:
        return cls(
            first=cls._frame(0),
            changed=[cls._frame(n) for n in range(1, count + 1)],
            unchanged=[cls._frame(count)] * count,
            compressed=[cls._frame(n, compressed=True) for n in range(count + 1, 2 * count + 1)],
        )

    @staticmethod
    def _frame(number: int, *, compressed: bool = False) -> bytes:
        topics = [topic_config(topic(t)) for t in range(MANY_TOPICS)]
        topics[number] = topic_config(topic(number), read=16)
        version = data_version(number + 1, 1_700_000_000_000 + number)
        body = compressed_body(topics, version) if compressed else register_body(topics, version)
        return registration("broker-many", "10.0.1.1", body, compressed=compressed)


def wait_until_gone(server: NameServer) -> None:
    """Wait until the broker with many topics is unregistered: its connection was closed."""

    def is_gone() -> bool:
        with connect(server) as client:
            return b'"broker-many"' not in (client.request(codes.GET_BROKER_CLUSTER_INFO).body or b"")

    eventually(is_gone, within_s=30.0)
