"""A small HTTP client, raw sockets for requests that no client would send, and the samples of a scrape."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from http.client import HTTPConnection

from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")


class Http:
    """Asks one management port, each time on a connection of its own."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> HttpAnswer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return HttpAnswer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 60)

    def raw(self, data: bytes) -> bytes:
        """The bytes that come back on a new connection until it closes, maybe before all data is sent."""
        with self.connect() as connection:
            connection.settimeout(60)
            got = b""
            try:
                connection.sendall(data)
                while part := connection.recv(65536):
                    got += part
            except ConnectionError:
                pass
            return got


class Scraped:
    """The samples of one scrape: ``scraped("name", label="value")`` is a number, None if there is no such sample."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self.samples = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in self.families.values()
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float | None:
        return self.samples.get((name, tuple(sorted(labels.items()))))
