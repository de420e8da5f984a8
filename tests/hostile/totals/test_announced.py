"""In the totals of bytes a host is the one that a PROXY header announced, where there is one."""

from __future__ import annotations

from contextlib import ExitStack

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.hostile.conftest import StartServer
from tests.hostile.shares.test_limits import UNFINISHED, try_to_send
from tests.hostile.totals.crowd import HELD, ended, register_in_parts
from tests.hostile.watch import MB, Watch
from tests.support.proxyheaders import v1

LIMIT = 64 * MB
OF_ONE_HOST = 20 * MB // HELD  # more than an eighth of the limit and more than one frame may have
OF_OTHERS = (LIMIT - 100_000) // HELD - OF_ONE_HOST
PROXY = "127.0.0.2"


def announcing(server: NameServer, stack: ExitStack, host: str) -> Client:
    """A connection through the proxy that holds HELD bytes."""
    client = stack.enter_context(Client(server.port, source=PROXY))
    try_to_send(client, v1("TCP4", host, "10.9.9.9", 40_000, 9876) + UNFINISHED + bytes(HELD - len(UNFINISHED)))
    return client


def test_the_announced_host_that_holds_much_makes_room(start_server: StartServer) -> None:
    """Others behind the same proxy stay, though they have made no progress for longer."""
    server = start_server({"rocketns.incomingBytesMax": LIMIT})
    watch = Watch(server)
    with ExitStack() as stack:
        others = [announcing(server, stack, f"10.1.0.{number + 1}") for number in range(OF_OTHERS)]
        eventually(lambda: watch.peak_growth() > OF_OTHERS * HELD - MB)
        large = [announcing(server, stack, "10.2.0.1") for _ in range(OF_ONE_HOST)]
        eventually(lambda: watch.peak_growth() > LIMIT - 2 * MB)
        broker = stack.enter_context(server.connect())
        assert register_in_parts([broker], lambda: ended(large) > 0) == [codes.SUCCESS]
        assert (ended(others), ended(large) <= 20) == (0, True)
