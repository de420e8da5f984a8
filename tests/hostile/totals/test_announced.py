"""In the totals of bytes a host is the one that a PROXY header announced, where there is one."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.wire import Client, eventually
from tests.hostile.conftest import NO_TIME_LIMIT
from tests.hostile.shares.test_limits import UNFINISHED, try_to_send
from tests.hostile.totals.crowd import HELD, apart, ended, register_in_parts
from tests.hostile.watch import MB
from tests.soak.live import LiveServer
from tests.support.proxyheaders import v1

LIMIT = 64 * MB
OF_ONE_HOST = 20 * MB // HELD  # more than an eighth of the limit and more than one frame may have
# While bytes come, a reactor was seen to count more than 100 KB too much. There is room for that, but not for two
# parts of a registration.
ROOM = 600_000
OF_OTHERS = (LIMIT - ROOM) // HELD - OF_ONE_HOST
LARGE = "10.2.0.1"
PROXY = "127.0.0.2"


def announcing(server: LiveServer, stack: ExitStack, host: str) -> Client:
    """A connection through the proxy that holds HELD bytes."""
    client = stack.enter_context(Client(server.port, source=PROXY))
    try_to_send(client, v1("TCP4", host, "10.9.9.9", 40_000, 9876) + UNFINISHED + bytes(HELD - len(UNFINISHED)))
    return client


@pytest.mark.parametrize("reactors", [2, 0], ids=["reactors", "asyncio"])
def test_the_announced_host_that_holds_much_makes_room(tmp_path: Path, reactors: int) -> None:
    """Others behind the same proxy stay, though they have made no progress for longer."""
    limit = {"rocketns.incomingBytesMax": LIMIT} | NO_TIME_LIMIT
    with LiveServer(tmp_path, reactors, **limit) as server, ExitStack() as stack:
        facts = server.controller.facts.connections
        hosts = apart([f"10.1.{number // 250}.{number % 250 + 1}" for number in range(2 * OF_OTHERS)], LARGE, server)
        others = [announcing(server, stack, host) for host in hosts[:OF_OTHERS]]
        eventually(lambda: facts.incoming_bytes >= OF_OTHERS * HELD)
        large = [announcing(server, stack, LARGE) for _ in range(OF_ONE_HOST)]
        eventually(lambda: facts.incoming_bytes >= (OF_OTHERS + OF_ONE_HOST) * HELD)
        broker = stack.enter_context(server.connect())
        assert register_in_parts([broker], lambda: ended(large) > 0) == [codes.SUCCESS]
        assert (ended(others), ended(large) <= 20) == (0, True)
