"""Which lookups reactors answer under a policy: only those that it lets pass. All others reach control."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually
from rocketns._fast.access.networks import NetworkFlag
from rocketns._fast.connections.connection import Ending
from rocketns.config.address_texts import packed
from tests.fast.lookups import CLIENTS, look_up, signed, signed_binary
from tests.support.live import LiveServer
from tests.support.policies import whole
from tests.support.proxyheaders import v1

LOCAL, OTHERS = IPv4Network("127.0.0.0/8"), IPv4Network("10.0.0.0/8")
MAY_LOOK_UP, HAS_EVIDENCE = NetworkFlag.MAY_LOOK_UP, NetworkFlag.HAS_EVIDENCE


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    """With the topic T, and two reactors."""
    with LiveServer(tmp_path, **{"rocketns.trustedProxies": "127.0.0.0/8"}) as started, started.connect() as broker:
        body = register_body([topic_config("T"), topic_config("U")])
        assert broker.request(codes.REGISTER_BROKER, register_ext(body=body), body).code == 0
        yield started


def guard(
    server: LiveServer, *networks: tuple[IPv4Network, int], guarded: bool = True, close_strangers: bool = False
) -> None:
    rows = [(*packed(network), flags) for network, flags in networks]
    server.call(lambda: server.reactors.set_access(guarded, close_strangers, rows))


def ask(client: Client, whole: bytes) -> bytes:
    client.send(whole)
    return client.receive_frame()


def by_lane(server: LiveServer, client: Client, whole: bytes) -> bool:
    """Send a lookup and receive its answer: whether a reactor answered, and control saw nothing of it."""
    before = server.answered_by_reactors(), server.controller.core.control.lookups
    assert b'"code":0' in ask(client, whole)
    server.settle()
    answered = server.answered_by_reactors() - before[0]
    assert answered + server.controller.core.control.lookups - before[1] == 1
    return answered == 1


def test_an_unsigned_lookup_of_a_guarded_reactor_is_for_control(server: LiveServer) -> None:
    """Real clients in both forms, the signed ones among them: nobody verified those."""
    guard(server, (OTHERS, MAY_LOOK_UP), (LOCAL, HAS_EVIDENCE))
    with server.connect() as client:
        assert not any(by_lane(server, client, look_up(name, "T")) for name in CLIENTS)


def test_without_a_policy_all_lookups_stay_in_the_lane(server: LiveServer) -> None:
    with server.connect() as client:
        assert by_lane(server, client, look_up(CLIENTS[0], "T"))
        assert by_lane(server, client, signed("T"))
        assert not server.call(lambda: server.reactors.remember_allowed(signed("T")))
        guard(server, guarded=False)
        assert by_lane(server, client, look_up(CLIENTS[0], "T"))


def test_an_open_connection_follows_each_change_with_its_next_frame(server: LiveServer) -> None:
    with server.connect() as client:
        assert by_lane(server, client, look_up(CLIENTS[0], "T"))
        for networks, stays in [((), False), (((LOCAL, MAY_LOOK_UP),), True), (((LOCAL, HAS_EVIDENCE),), False)]:
            guard(server, *networks)
            assert by_lane(server, client, look_up(CLIENTS[0], "T")) is stays


@pytest.mark.parametrize("make", [signed, signed_binary])
def test_a_signed_lookup_stays_in_the_lane_once_control_allowed_its_bytes(server: LiveServer, make) -> None:  # type: ignore[no-untyped-def]
    guard(server)
    reactors = server.reactors
    with server.connect() as client, server.connect() as other:
        assert not by_lane(server, client, make("T"))
        assert server.call(lambda: reactors.remember_allowed(make("T")))
        assert not by_lane(server, client, signed_binary("T") if make is signed else signed("T"))
        assert by_lane(server, client, make("T", opaque=8))
        assert by_lane(server, other, make("T"))
        assert not by_lane(server, client, make("U"))
        assert not by_lane(server, client, make("T", body=b"x"))
        assert not by_lane(server, client, look_up(CLIENTS[0], "T"))
    assert reactors.signed_lookups == 2


def test_a_guarded_lookup_like_an_earlier_free_one_is_not_taken_for_allowed(server: LiveServer) -> None:
    """A reactor knows the form of a client's lookups. That must not let one pass whose bytes nobody allowed."""
    with server.connect() as client:
        assert by_lane(server, client, signed("T"))
        guard(server)
        assert not by_lane(server, client, signed("T"))
        assert server.call(lambda: server.reactors.remember_allowed(signed("T")))
        assert by_lane(server, client, signed("T"))
        assert not by_lane(server, client, signed("U"))


def test_a_change_forgets_what_was_allowed(server: LiveServer) -> None:
    guard(server)
    assert server.call(lambda: server.reactors.remember_allowed(signed("T")))
    with server.connect() as client:
        assert by_lane(server, client, signed("T"))
        guard(server)
        assert not by_lane(server, client, signed("T"))
        assert server.call(lambda: server.reactors.remember_allowed(signed("T")))
        assert by_lane(server, client, signed("T"))


def test_what_no_reactor_may_answer_is_not_remembered(server: LiveServer) -> None:
    guard(server)
    unanswered = [
        look_up(CLIENTS[0]), signed("T", body=b"x"), signed("T", signature=""), signed("T")[:-1], b"", b"\0" * 8,
        signed("Ü"),
    ]  # fmt: skip
    for one in unanswered:
        assert not server.call(lambda one=one: server.reactors.remember_allowed(one))


def freed(server: LiveServer, client: Client) -> None:
    """Control answers the connection's next lookup, and lets the later ones stay in the lane."""
    connection = server.connection_of(client)
    with server.held_still():
        client.send(look_up(CLIENTS[0], "T"))
        server.loop.call_soon_threadsafe(connection.allow_lookups)
    assert b'"code":0' in client.receive_frame()
    server.settle()


def test_lookups_that_a_certificate_allows_stay_in_the_lane_until_the_policy_changes(server: LiveServer) -> None:
    guard(server)
    with server.connect() as client:
        assert not by_lane(server, client, look_up(CLIENTS[0], "T"))
        freed(server, client)
        assert by_lane(server, client, look_up(CLIENTS[0], "T"))
        assert by_lane(server, client, signed("T"))
        assert server.reactors.signed_lookups == 0
        with server.connect() as other:
            assert not by_lane(server, other, look_up(CLIENTS[0], "T"))
        guard(server)
        assert not by_lane(server, client, look_up(CLIENTS[0], "T"))


def test_an_order_to_let_lookups_pass_from_before_the_change_has_no_effect(server: LiveServer) -> None:
    guard(server)
    with server.connect() as client:
        assert not by_lane(server, client, look_up(CLIENTS[0], "T"))
        connection = server.connection_of(client)
        server.call(connection.allow_lookups)
        guard(server)
        assert not by_lane(server, client, look_up(CLIENTS[0], "T"))
        assert not by_lane(server, client, look_up(CLIENTS[0], "T"))


OBSERVED = whole("""
[keys.known]
secret = "12345678"
[principals.clients]
keys = ["known"]
may = ["lookup"]
[modes]
lookup = "observe"
""")


def test_each_lookup_that_would_be_refused_is_decided_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Who asks with which key must be known before lookups are enforced: also of a peer that asked before."""
    (tmp_path / "access.toml").write_text(OBSERVED, "utf-8")
    with (
        LiveServer(tmp_path, **{"rocketns.accessFile": tmp_path / "access.toml"}) as server,
        server.connect() as client,
    ):
        for number in range(215):
            ask(client, look_up(CLIENTS[0], f"T{number % 5}"))
        for number in range(10):
            ask(client, signed("T", key=f"key-{number}"))
        guard = server.controller.core.context.guard
        refused = {one.reason: number for one, number in server.call(lambda: dict(guard.decisions)).items()}
        assert refused == {"no_evidence": 215, "unknown_key": 10}
    named = re.findall(r"access key (\S+): .* requests: (\d+)", caplog.text)
    assert named == [("None", "1"), *((f"key-{number}", "1") for number in range(10)), ("None", "214")]


def test_a_reactor_that_gets_a_connection_from_a_proxy_knows_what_may_pass(server: LiveServer) -> None:
    """It has never judged a connection, and needs the keys of the digests all the same."""
    guard(server)
    assert server.call(lambda: server.reactors.remember_allowed(signed("T")))
    for _ in range(2):
        with server.connect() as client:
            client.send(v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 9876))
            assert by_lane(server, client, signed("T"))
            assert not by_lane(server, client, look_up(CLIENTS[0], "T"))


def test_a_stranger_is_closed_when_it_connects_and_nobody_hears_of_it(server: LiveServer) -> None:
    opened = server.transport.opened_total
    guard(server, (OTHERS, HAS_EVIDENCE), close_strangers=True)
    for _ in range(3):
        with server.connect() as stranger:
            assert stranger.is_closed_by_server()
    server.settle()
    eventually(lambda: server.reactors.strangers_closed == 3)  # each is counted after it is closed
    assert server.transport.opened_total == opened
    guard(server, (LOCAL, HAS_EVIDENCE), close_strangers=True)
    with server.connect() as client:
        assert not by_lane(server, client, look_up(CLIENTS[0], "T"))


def test_a_connection_that_became_a_stranger_is_closed_at_its_next_frame(server: LiveServer) -> None:
    with server.connect() as client:
        assert by_lane(server, client, look_up(CLIENTS[0], "T"))
        guard(server, (OTHERS, HAS_EVIDENCE), close_strangers=True)
        client.send(look_up(CLIENTS[0], "T"))
        assert client.is_closed_by_server()
    eventually(lambda: server.transport.endings[Ending.STRANGER] == 1)
    assert server.reactors.strangers_closed == 1


@pytest.mark.parametrize(("address", "stays"), [("10.0.0.7", True), ("192.0.2.7", False)])
def test_behind_a_proxy_the_announced_address_counts(server: LiveServer, address: str, stays: bool) -> None:
    guard(server, (OTHERS, MAY_LOOK_UP), (LOCAL, HAS_EVIDENCE))
    with server.connect() as client:
        client.send(v1("TCP4", address, "192.0.2.1", 56324, 9876))
        assert by_lane(server, client, look_up(CLIENTS[0], "T")) is stays
