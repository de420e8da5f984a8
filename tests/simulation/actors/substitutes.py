"""Replaces, in the product's modules, what reaches outside a simulated process: sockets, threads, memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from rocketns import namesrv_controller
from rocketns.client import own
from rocketns.journal import journal
from rocketns.server.connections import asyncio_transport
from rocketns.server.connections.asyncio_connection import AsyncioConnection
from rocketns.server.listening import Listening
from tests.simulation.actors.nameserver import NameServerProcess, working
from tests.simulation.actors.threads import FileWork, JournalWork
from tests.simulation.world.scheduler import World


def _numbered_connections() -> type[AsyncioConnection]:
    """Sets of connections then have the same order in each run, wherever they lie in memory."""
    numbers = itertools.count(1)

    class NumberedConnection(AsyncioConnection):
        __slots__ = ("_number",)

        def __init__(self, owner: Any) -> None:
            self._number = next(numbers)
            super().__init__(owner)

        def __hash__(self) -> int:
            return self._number

    return NumberedConnection


@contextmanager
def substituted(world: World) -> Iterator[None]:
    """Until the end of the block, each controller lives in the simulated process that makes it."""

    def bind(host: str, port: int, *, ipv4_only: bool) -> Any:
        assert not ipv4_only
        process = world.running
        assert isinstance(process, NameServerProcess)
        return Listening(process.bind(host, port))  # type: ignore[arg-type]

    async def is_own(addr: str, own_port: int) -> bool:
        process = world.running
        assert isinstance(process, NameServerProcess)
        return addr == f"{process.server.host}:{own_port}"

    replaced: list[tuple[Any, str, Callable[..., Any]]] = [
        (namesrv_controller, "bind", bind),
        (namesrv_controller, "fit_connections", lambda _limits: None),
        (namesrv_controller, "give_back_free_memory", lambda: None),
        (namesrv_controller, "FileWriter", lambda **limits: FileWork(working(world.running), **limits)),
        (own, "is_own", is_own),
        (journal, "Writer", lambda store, retention: JournalWork(store, retention, working(world.running))),
        (asyncio_transport, "AsyncioConnection", _numbered_connections()),
    ]
    with ExitStack() as stack:
        for module, name, value in replaced:
            stack.enter_context(patch.object(module, name, value))
        yield
