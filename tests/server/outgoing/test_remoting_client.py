"""Connections that the name server opens: reused, bounded, and given up without blocking other work."""

from __future__ import annotations

import asyncio

import pytest

from rocketns.server.outgoing import remoting_client
from rocketns.server.outgoing.remoting_client import NotSentError, RemotingClient
from tests.server.peers import CLOSED, NOBODY, WAIT_S, peer, run


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
                client.invoke_oneway(one.addr, b"%d" % number)
            await one.until(lambda: one.received == b"0123456789")
            client.invoke_oneway(one.addr, b"!")
            await one.until(lambda: one.received == b"0123456789!")
            assert len(one.connections) == 1

    run(test)


def test_a_new_connection_after_the_last_one_ended() -> None:
    """B192: a broker that was restarted is notified again."""

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            client.invoke_oneway(one.addr, b"a")
            await one.until(lambda: one.received == b"a")
            one.connections[0].close()
            while client._connections:
                await asyncio.sleep(0.001)
            client.invoke_oneway(one.addr, b"b")
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
                client.invoke_oneway(addr, b"lost")
            client.invoke_oneway(one.addr, b"found")
            await one.until(lambda: one.received == b"found")
            await settled(client, 1)

    run(test, connect_timeout_s=2.0)


def test_what_waits_for_a_connection_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """B192: the rest is dropped."""
    monkeypatch.setattr(remoting_client, "UNSENT_FRAMES_MAX", 3)

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            for number in range(9):
                client.invoke_oneway(one.addr, b"%d" % number)
            await one.until(lambda: one.received == b"012")

    run(test)


def test_what_a_peer_does_not_read_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """B192: some frames are dropped whole, none is cut."""
    monkeypatch.setattr(remoting_client, "UNSENT_BYTES_MAX", 100_000)

    async def test(client: RemotingClient) -> None:
        stop = asyncio.Event()

        async def idle(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            await stop.wait()

        async with peer(idle) as one:
            client.invoke_oneway(one.addr, b"x")
            await one.until(lambda: len(one.connections) == 1)
            await settled(client, 1)
            (connection,) = client._connections.values()
            accepted = 0
            while connection.send(b"x" * 100_000):
                accepted += 1
                assert accepted < 1000
            assert connection._transport is not None
            assert connection._transport.get_write_buffer_size() <= 200_000
            stop.set()

    run(test)


def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """B192: frames to further addresses are dropped until there is room."""
    monkeypatch.setattr(remoting_client, "CONNECTIONS_MAX", 2)

    async def test(client: RemotingClient) -> None:
        async with peer() as one, peer() as two, peer() as three:
            for each in (one, two, three):
                client.invoke_oneway(each.addr, b"a")
            await one.until(lambda: one.received == b"a")
            await two.until(lambda: two.received == b"a")
            with pytest.raises(NotSentError):
                await client.invoke(three.addr, 1, b"a", WAIT_S)
            assert three.connections == []

    run(test)


def test_a_silent_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """B192: Java closes it after 120 s, too."""
    assert remoting_client.IDLE_S == 120
    monkeypatch.setattr(remoting_client, "IDLE_S", 0.05)

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            client.invoke_oneway(one.addr, b"a")
            await one.until(lambda: one.received == b"a")
            while client._connections:
                await asyncio.sleep(0.005)

    run(test)


def test_after_the_end() -> None:
    """B193: no connection is opened any more."""

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            client.close()
            client.invoke_oneway(one.addr, b"late")
            with pytest.raises(NotSentError):
                await client.invoke(one.addr, 1, b"late", WAIT_S)
            assert client._connections == {}

    run(test)
