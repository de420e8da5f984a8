"""A broker with one topic that the clients look up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from interop.harness.servers import NameServer
from interop.harness.wire import Client, frame
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered


@dataclass(frozen=True)
class Found:
    """What each client has to find: a broker with one address, and its queues."""

    topic: str
    broker: str
    cluster: str
    addr: str


@pytest.fixture
def found(client: Client, names: Names) -> Found:
    """The broker stays as long as the connection of the test."""
    registered(client, names)
    return Found(names.topic("T"), names.broker, names.cluster, names.addr())


def ask(client: Client, header: str, body: bytes = b"") -> bytes:
    """The answer to a header that is written exactly so."""
    client.send(frame(header.encode(), body))
    return client.receive_frame()


@pytest.fixture
def own_server(start_server: Callable[..., NameServer]) -> NameServer:
    """A server without brokers and items of other tests."""
    return start_server()
