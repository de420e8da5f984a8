"""A real server with a management port in this process, and brokers as bytes on its port."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.ports import free_port
from interop.harness.wire import Client
from rocketns.admin import view
from rocketns.admin.metrics import exposition
from rocketns.startup import make_ports
from tests.admin.http import Http, HttpAnswer, Scraped
from tests.support.inprocess import TimedServer
from tests.support.starting import stopped_after


class Managed(TimedServer):
    """A running server. ``http`` asks its management port."""

    def __init__(self, home: Path, properties: dict[str, object] | None = None, log: view.Log | None = None) -> None:
        port = free_port()
        self._log = log
        super().__init__(home, {"rocketns.adminPort": port} | (properties or {}))
        self.http = Http(port)

    def scrape(self) -> Scraped:
        return Scraped(self.http.ask("/metrics").text)

    async def _start(self) -> None:
        self.admin, _ = make_ports(self.controller, log_writer=self._log)
        assert self.admin is not None
        self.admin.start()
        await super()._start()

    def stop(self) -> None:
        assert self.admin is not None
        asyncio.run_coroutine_threadsafe(self._stop_admin(), self.loop).result(10)
        super().stop()

    async def _stop_admin(self) -> None:
        assert self.admin is not None
        self.admin.stop()


@pytest.fixture
def start_managed(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., Managed]:
    """Start a server with these properties; it is stopped after the test."""
    return stopped_after(request, lambda properties=None: Managed(tmp_path, properties))


@pytest.fixture
def managed(start_managed: Callable[..., Managed]) -> Managed:
    return start_managed()


@pytest.fixture
def no_old_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each scrape shows everything that happened before it."""
    monkeypatch.setattr(exposition, "TEXT_AGE_S", 0.0)
    monkeypatch.setattr(view, "COPY_AGE_S", 0.0)


V5_5_0, V4_9_4 = 513, 401


class Broker:
    """A broker: its connection stays open until the block ends."""

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


Ask = Callable[..., Any]


def get(managed: Managed, name: str, **parameters: object) -> HttpAnswer:
    return managed.http.ask(f"/api/v1/{name}?{urlencode(parameters)}")


@pytest.fixture
def ask(managed: Managed) -> Ask:
    """The value at a path of the API; the answer must be 200."""

    def run(name: str, **parameters: object) -> Any:
        answer = get(managed, name, **parameters)
        assert answer.status == 200, answer.text
        return orjson.loads(answer.body)

    return run
