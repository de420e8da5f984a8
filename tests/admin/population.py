"""Brokers, topics and clients for a managed server, as bytes on its port."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client
from tests.admin.conftest import Managed

V5_5_0, V4_9_4 = 513, 401


class Broker:
    """A broker: its connection stays open until the block, or `leave`, ends."""

    def __init__(self, managed: Managed, name: str, number: int = 0, *, addr: str = "10.0.0.1:10911",
                 cluster: str = "C1", version: int = V5_5_0) -> None:  # fmt: skip
        self.name, self.number, self.addr, self.cluster, self.version = name, number, addr, cluster, version
        self.client: Client = managed.connect()

    def register(self, topics: Iterable[str] = (), *, queues: int = 4, **ext: Any) -> Broker:
        """Its own name is a topic too, as with a real broker."""
        configs = [topic_config(topic, read=queues, write=queues) for topic in (*topics, self.name, self.cluster)]
        body = register_body(configs)
        fields = register_ext(self.cluster, self.name, self.addr, self.number, body, **ext)
        assert self.client.request(codes.REGISTER_BROKER, fields, body, version=self.version).code == 0
        return self

    def beat(self) -> None:
        fields = {"clusterName": self.cluster, "brokerName": self.name, "brokerAddr": self.addr}
        assert self.client.request(codes.BROKER_HEARTBEAT, fields, version=self.version).code == 0

    def unregister(self) -> None:
        fields = {"clusterName": self.cluster, "brokerName": self.name, "brokerAddr": self.addr,
                  "brokerId": str(self.number)}  # fmt: skip
        assert self.client.request(codes.UNREGISTER_BROKER, fields, version=self.version).code == 0

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.client.close()
