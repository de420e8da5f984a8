"""What a server answers with a policy, by the mode of a request's class."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import ANSWER_TIMEOUT_S, Client
from tests.access.conftest import StartGuarded
from tests.access.signing import signed

NO_PERMISSION, NOT_SUPPORTED = 16, 3
EVERY_CLASS = {105: "lookup", 106: "read", 224: "scan", 319: "config", 901: "broker", 205: "admin"}
ADMIN_BY_KEY = """
    [modes]
    admin = "{mode}"
    [keys.rocketmq]
    secret = "12345678"
    [principals.operator]
    keys = ["rocketmq"]
    may = ["admin"]
"""
FLEET = """
    [modes]
    lookup = "{mode}"
    read = "{mode}"
    scan = "{mode}"
    config = "{mode}"
    broker = "{mode}"
    admin = "{mode}"
    [principals.fleet]
    networks = ["127.0.0.1"]
    may = ["lookup", "read", "scan", "config", "broker", "admin"]
"""


def stranger(server: NameServer) -> Client:
    """A peer from an address of which the policy says nothing."""
    return Client(server.port, source="127.0.0.2")


def codes(client: Client) -> dict[int, int]:
    """The answers' codes by request code."""
    ext = {"topic": "T", "cluster": "C", "brokerName": "b", "clusterName": "C"}
    return {code: client.request(code, ext).code for code in EVERY_CLASS}


def test_stranger_is_answered_where_modes_are_off(start_guarded: StartGuarded) -> None:
    server = start_guarded(FLEET.format(mode="off"))
    with server.connect() as known, stranger(server) as unknown:
        assert codes(known) == codes(unknown)


def test_stranger_is_answered_and_counted_where_classes_are_observed(start_guarded: StartGuarded) -> None:
    server = start_guarded(FLEET.format(mode="observe"))
    with server.connect() as known, stranger(server) as unknown:
        assert codes(known) == codes(unknown)
    server.process.wait_for("127.0.0.2")


@pytest.mark.parametrize("access", EVERY_CLASS.values())
def test_only_the_enforced_class_is_refused(start_guarded: StartGuarded, access: str) -> None:
    text = FLEET.format(mode="off").replace(f'{access} = "off"', f'{access} = "enforce"')
    server = start_guarded(text)
    with stranger(server) as unknown:
        refused = {EVERY_CLASS[code] for code, result in codes(unknown).items() if result == NO_PERMISSION}
    assert refused == {access}


def test_signed_admin_request_is_carried_out(start_guarded: StartGuarded) -> None:
    server = start_guarded(ADMIN_BY_KEY.format(mode="enforce"))
    item = {"namespace": "N", "key": "k", "value": "v"}
    with server.connect() as client:
        assert client.request(100, item).code == NO_PERMISSION
        assert client.request(101, {"namespace": "N", "key": "k"}).code != 0
        assert client.request(100, signed(item)).code == 0
        assert client.request(101, {"namespace": "N", "key": "k"}).ext == {"value": "v"}


def test_signature_is_read_from_binary_headers_too(start_guarded: StartGuarded) -> None:
    server = start_guarded(ADMIN_BY_KEY.format(mode="enforce"))
    with server.connect() as client:
        item = {"namespace": "N", "key": "k", "value": "v"}
        assert client.request(100, item, binary=True).code == NO_PERMISSION
        assert client.request(100, signed(item), binary=True).code == 0


def test_code_without_class_is_refused_as_admin_is(start_guarded: StartGuarded) -> None:
    server = start_guarded(ADMIN_BY_KEY.format(mode="enforce"))
    with server.connect() as client:
        assert client.request(9999).code == NO_PERMISSION
        assert client.request(9999, signed({})).code == NO_PERMISSION


def test_code_without_class_is_answered_where_admin_is_open(start_guarded: StartGuarded) -> None:
    server = start_guarded(FLEET.format(mode="off"))
    with server.connect() as client:
        assert client.request(9999).code == NOT_SUPPORTED


def test_lookup_of_a_stranger_is_refused_though_its_route_is_published(start_guarded: StartGuarded) -> None:
    text = FLEET.format(mode="off").replace('lookup = "off"', 'lookup = "enforce"')
    server = start_guarded(text)
    body = register_body([topic_config("T"), topic_config("U")])
    with server.connect() as broker, stranger(server) as unknown:
        assert broker.request(103, register_ext("C", "b", "127.0.0.1:10911", 0, body), body).code == 0
        assert broker.request(105, {"topic": "T"}).code == 0
        assert unknown.request(105, {"topic": "T"}).code == NO_PERMISSION


def test_connection_of_a_stranger_is_closed_where_it_could_do_nothing(start_guarded: StartGuarded) -> None:
    server = start_guarded(FLEET.format(mode="enforce"))
    with server.connect() as known:
        assert known.request(106).code == 0
    unknown = stranger(server)
    unknown.socket.settimeout(ANSWER_TIMEOUT_S)
    try:
        assert unknown.socket.recv(1) == b""
    except ConnectionResetError:
        pass
    finally:
        unknown.close()


def test_start_says_that_everything_is_open(server_class: type[NameServer], tmp_path: Path) -> None:
    server = server_class(tmp_path / "open")
    try:
        server.process.wait_for("access control is off: .*rocketns.accessFile")
    finally:
        server.stop()
