"""Fixtures of the behaviour tests: a shared server, servers with their own settings, and unique names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.support.starting import stopped_after

_numbers = itertools.count(1)


class Names:
    """Names for one test, unique in the session, so that tests can share a server."""

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.cluster = f"Cluster{self.number}"
        self.broker = f"broker-{self.number}"

    def addr(self, host: int = 1) -> str:
        return f"10.{self.number >> 8}.{self.number & 255}.{host}:10911"

    def topic(self, name: str = "T") -> str:
        return f"{name}-{self.number}"


@pytest.fixture(scope="session")
def server(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """One name server with default settings for all tests that do not change settings."""
    with server_class(tmp_path_factory.mktemp("shared")) as started:
        yield started


@pytest.fixture
def client(server: NameServer) -> Iterator[Client]:
    """A fresh connection to the shared server; its brokers go when it closes."""
    with server.connect() as connection:
        yield connection


@pytest.fixture
def start_server(
    server_class: type[NameServer], tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[..., NameServer]:
    """Start a server of its own: ``start_server({"enableTopicList": "false"})``; stopped after the test."""
    homes = (tmp_path / f"ns{number}" for number in itertools.count())
    return stopped_after(request, lambda *given, **more: server_class(next(homes), *given, **more))
