"""Requests at the management port: a crowd of one host holds up neither those of another, nor new connections."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

from rocketns.admin.gate import CONNECTIONS_MAX, Gate, Guard
from rocketns.admin.turns import REQUESTS_PER_TURN_MAX

PROBE, OTHER = "10.0.0.1", "10.0.0.2"


class Port:
    """The connections of a gate, without sockets."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.begun: list[str] = []  # the hosts whose requests aiohttp got

    def asks(self, host: str) -> Guard:
        """A new connection with one request."""
        transport = Mock(asyncio.Transport, is_closing=lambda: False)
        transport.get_extra_info.return_value = (host, 1)
        guard = Guard(self.gate, lambda: Mock(data_received=lambda _: self.begun.append(host)))
        guard.connection_made(transport)
        request = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
        guard.get_buffer(-1)[: len(request)] = request
        guard.buffer_updated(len(request))
        return guard


def test_a_crowd_of_one_host_waits_for_the_probe_of_another() -> None:
    async def steps() -> None:
        port = Port()
        crowd = [port.asks(OTHER) for _ in range(CONNECTIONS_MAX - 1)]
        await asyncio.sleep(0)
        port.asks(PROBE)
        await asyncio.sleep(0)
        assert PROBE in port.begun
        assert len(port.begun) <= 2 * REQUESTS_PER_TURN_MAX < len(crowd)

    asyncio.run(steps())


def test_a_turn_of_the_loop_has_a_few_requests() -> None:
    """So what else the loop does, which is to accept connections, goes on between them, and no request is lost."""

    async def steps() -> None:
        port = Port()
        crowd = [port.asks(OTHER) for _ in range(CONNECTIONS_MAX)]
        for turn in range(1, 1 + len(crowd) // REQUESTS_PER_TURN_MAX):
            await asyncio.sleep(0)
            assert len(port.begun) == turn * REQUESTS_PER_TURN_MAX

    asyncio.run(steps())


def test_a_connection_that_ended_has_no_turn() -> None:
    async def steps() -> None:
        port = Port()
        for _ in range(REQUESTS_PER_TURN_MAX):
            port.asks(PROBE).connection_lost(None)
        port.asks(PROBE)
        await asyncio.sleep(0)
        assert port.begun == [PROBE]

    asyncio.run(steps())
