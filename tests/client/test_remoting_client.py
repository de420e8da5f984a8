"""Connections that the client opens: reused, bounded, and given up without blocking other work."""

from __future__ import annotations

import asyncio
from socket import AF_INET

import pytest

from rocketns.client import connection, places
from rocketns.client.connection import NotSentError
from rocketns.client.remoting_client import RemotingClient
from tests.client.peers import CLOSED, HERE, NOBODY, WAIT_S, peer, run


async def settled(client: RemotingClient, connections: int) -> None:
    """Wait until nothing is being opened; then check the number of connections."""
    while client._opening:
        await asyncio.wait(client._opening)
    await asyncio.sleep(0)
    assert len(client._connections) == connections


def test_one_connection_carries_everything() -> None:
    """B192: also the frames sent before it is open, in order."""

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            for number in range(10):
                client.invoke_oneway(one.addr, b"%d" % number, HERE)
            await one.until(lambda: one.received == b"0123456789")
            client.invoke_oneway(one.addr, b"!", HERE)
            await one.until(lambda: one.received == b"0123456789!")
            assert len(one.connections) == 1

    run(test)


def test_a_new_connection_after_the_last_one_ended() -> None:
    """B192: a broker that was restarted is notified again."""

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            client.invoke_oneway(one.addr, b"a", HERE)
            await one.until(lambda: one.received == b"a")
            one.connections[0].close()
            while client._connections:
                await asyncio.sleep(0.001)
            client.invoke_oneway(one.addr, b"b", HERE)
            await one.until(lambda: one.received == b"ab")
            assert len(one.connections) == 2

    run(test)


def test_addresses_where_nobody_is() -> None:
    """B192: they are given up, and others are reached meanwhile."""

    async def test(client: RemotingClient) -> None:
        addrs = [NOBODY, CLOSED, "", ":", "x", ":1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:+x",
                 "a\0b:1", "a..b:1", "\ud800:1", "é" * 70 + ":1", "[::1:1", "[]:1"]  # fmt: skip
        async with peer() as one:
            for addr in addrs:
                client.invoke_oneway(addr, b"lost", HERE)
            client.invoke_oneway(one.addr, b"found", HERE)
            await one.until(lambda: one.received == b"found")
            await settled(client, 1)

    run(test, connect_timeout_s=2.0)


def test_frames_that_wait_for_a_connection_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """B192: the rest is dropped."""
    monkeypatch.setattr(connection, "UNSENT_FRAMES_MAX", 3)

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            for number in range(9):
                client.invoke_oneway(one.addr, b"%d" % number, HERE)
            await one.until(lambda: one.received == b"012")

    run(test)


def test_bytes_that_a_peer_does_not_read_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """B192: some frames are dropped whole, none is cut."""
    monkeypatch.setattr(connection, "UNSENT_BYTES_MAX", 100_000)

    async def test(client: RemotingClient) -> None:
        stop = asyncio.Event()

        async def idle(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            await stop.wait()

        async with peer(idle) as one:
            client.invoke_oneway(one.addr, b"x", HERE)
            await one.until(lambda: len(one.connections) == 1)
            await settled(client, 1)
            (only,) = client._connections.values()
            accepted = 0
            while only.send(b"x" * 100_000):
                accepted += 1
                assert accepted < 1000
            assert only._transport is not None
            assert only._transport.get_write_buffer_size() <= 200_000
            stop.set()

    run(test)


def test_connections_are_bounded() -> None:
    """rocketns.outgoingConnectionsMax: nothing is sent to further addresses while all connections are in use."""

    async def test(client: RemotingClient) -> None:
        async with peer() as one, peer() as two, peer() as three:
            asking = [asyncio.ensure_future(client.invoke(each.addr, 1, b"a", WAIT_S)) for each in (one, two)]
            await one.until(lambda: one.received == b"a")
            await two.until(lambda: two.received == b"a")
            with pytest.raises(NotSentError, match="outgoingConnectionsMax"):
                await client.invoke(three.addr, 1, b"a", WAIT_S)
            assert three.connections == []
            client.close()
            await asyncio.gather(*asking, return_exceptions=True)

    run(test, outgoing_connections_max=2)


def test_the_one_that_was_idle_for_longest_makes_room() -> None:
    """rocketns.outgoingConnectionsMax."""

    async def test(client: RemotingClient) -> None:
        async with peer() as one, peer() as two, peer() as three:
            for each in (one, two):
                client.invoke_oneway(each.addr, b"a", HERE)
                await each.until(lambda each=each: each.received == b"a")
            client.invoke_oneway(one.addr, b"b", HERE)
            await one.until(lambda: one.received == b"ab")
            client.invoke_oneway(three.addr, b"c", HERE)
            await three.until(lambda: three.received == b"c")
            assert set(client._connections) == {one.addr, three.addr}

    run(test, outgoing_connections_max=2)


def test_connections_to_one_host_are_bounded() -> None:
    """rocketns.outgoingConnectionsPerHostMax. Another host has its own."""

    async def test(client: RemotingClient) -> None:
        async with peer() as one, peer() as two, peer() as three:
            for each in (one, two, three):
                client.invoke_oneway(each.addr, b"a", HERE)
            client.invoke_oneway("127.0.0.2:1", b"a", "127.0.0.2")
            assert set(client._connections) == {one.addr, two.addr, "127.0.0.2:1"}

    run(test, outgoing_connections_per_host_max=2)


def test_names_of_hosts_share_their_announcers_account() -> None:
    """A peer can make up any number of names."""

    async def test(client: RemotingClient) -> None:
        for number in range(9):
            client.invoke_oneway(f"name-{number}.invalid:1", b"a", HERE)
        assert len(client._connections) == 2

    run(test, outgoing_connections_per_host_max=2)


def test_an_address_that_failed_is_not_tried_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "REST_S", WAIT_S)

    async def test(client: RemotingClient) -> None:
        client.invoke_oneway(CLOSED, b"a", HERE)
        await settled(client, 0)
        client.invoke_oneway(CLOSED, b"a", HERE)
        assert client._connections == {}
        with pytest.raises(NotSentError, match="is not tried again"):
            await client.invoke(CLOSED, 1, b"a", WAIT_S)

    run(test)


def test_addresses_that_were_announced_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection is opened, also not to a name that is resolved to one."""

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            port = one.addr.rpartition(":")[2]
            monkeypatch.setattr(client._reach, "_resolver", lambda _host, port: [(AF_INET, (HERE, port))])
            for announcer in ("127.0.0.2", None):
                client.invoke_oneway(one.addr, b"a", announcer)
                client.invoke_oneway(f"broker-a:{port}", b"b", announcer)
            await settled(client, 0)
            assert one.connections == []
            client.invoke_oneway(f"broker-b:{port}", b"c", HERE)
            await one.until(lambda: one.received == b"c")

    run(test)


def test_a_silent_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """B192: Java closes it after 120 s, too."""
    assert connection.IDLE_S == 120

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            client.invoke_oneway(one.addr, b"a", HERE)
            await one.until(lambda: one.received == b"a")
            monkeypatch.setattr(connection, "IDLE_S", 0.05)
            client.invoke_oneway(one.addr, b"b", HERE)
            await one.until(lambda: one.received == b"ab")
            while client._connections:
                await asyncio.sleep(0.005)

    run(test)


def test_after_the_end() -> None:
    """B193: no connection is opened any more."""

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            client.close()
            client.invoke_oneway(one.addr, b"late", HERE)
            with pytest.raises(NotSentError):
                await client.invoke(one.addr, 1, b"late", WAIT_S)
            assert client._connections == {}

    run(test)
