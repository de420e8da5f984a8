"""A mute name server answers as always, and writes, opens and tells nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from interop.harness import codes, payloads
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Client
from tests.support.receiver import Receiver

MUTE: dict[str, object] = {"rocketns.mute": "true", "notifyMinBrokerIdChanged": "true"}


class Started:
    """A server whose brokers have a socket that the test listens on."""

    def __init__(self, home: Path, properties: dict[str, object], receiver: Receiver) -> None:
        self.server = RocketnsServer(home, properties)
        self.client, self.receiver = self.server.connect(), receiver

    def register(self, broker_id: int, addr: str) -> None:
        body = payloads.register_body([])
        ext = payloads.register_ext(addr=addr, broker_id=broker_id, body=body)
        assert self.client.request(codes.REGISTER_BROKER, ext, body).code == 0

    def close(self) -> None:
        self.client.close()
        self.server.kill()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as made:
        yield made


@pytest.fixture
def mute(tmp_path: Path, receiver: Receiver) -> Iterator[Started]:
    started = Started(tmp_path / "mute", MUTE, receiver)
    yield started
    started.close()


def put(client: Client) -> None:
    ext = {"namespace": "n", "key": "k", "value": "v"}
    assert client.request(codes.PUT_KV_CONFIG, ext).code == 0
    assert client.request(codes.GET_KV_CONFIG, {"namespace": "n", "key": "k"}).ext == {"value": "v"}


def test_a_mute_server_keeps_a_kv_item_in_memory_alone(mute: Started) -> None:
    put(mute.client)
    assert not (mute.server.home / "kvConfig.json").exists()


def test_a_mute_server_shows_a_changed_property_and_does_not_write_it(mute: Started) -> None:
    before = mute.server.config_path.read_bytes()
    assert mute.client.request(codes.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true").code == 0
    shown = mute.client.request(codes.GET_NAMESRV_CONFIG).body
    assert shown is not None
    assert b"orderMessageEnable=true\n" in shown
    assert mute.server.config_path.read_bytes() == before


def test_a_mute_server_notifies_no_broker(mute: Started, tmp_path: Path) -> None:
    """Another server notifies the same address afterwards: the only connection to it is that server's."""
    receiver = mute.receiver
    with closing(Started(tmp_path / "loud", MUTE | {"rocketns.mute": "false"}, receiver)) as loud:
        for started in (mute, loud):
            started.register(1, receiver.addr)
            started.register(0, receiver.addr.replace("127.0.0.1", "127.0.0.2"))
        receiver.next()
        assert len(receiver.connections) == 1


def test_a_mute_server_asks_no_other_name_server(tmp_path: Path) -> None:
    with ExitStack() as stack:
        peer = stack.enter_context(Receiver())
        server = RocketnsServer(tmp_path, MUTE | {"rocketns.peers": peer.addr, "rocketns.seedServers": peer.addr})
        stack.callback(server.kill)
        with server.connect() as client:
            put(client)
        assert not peer.connections
