"""While too many frames wait for control, every connection can still hand over one."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns._fast.reactor.reactors import Reactors
from rocketns.server.requests.inbox import WAITING_BYTES_MAX
from tests.compiled.parts import has_handled_all
from tests.support.live import LiveServer

ATTACKERS = 120
FLOOD = b"".join(frame(json_header(206, {}, opaque=n), bytes(16_000)) for n in range(300))
WAITING_AT_LEAST = WAITING_BYTES_MAX
ANSWERED_BEFORE_MAX = 3 * ATTACKERS  # requests of the flood, each of which logs a line; more than that waited


def start(run: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def flood(client: Client) -> None:
    with suppress(OSError):  # the server closes it at the end
        client.send(FLOOD)


def drain(client: Client) -> None:
    with suppress(OSError):
        while client.socket.recv(1 << 20):
            pass


def take(reactors: Reactors, client: Client) -> None:
    """Wait until a reactor has read all that the client sent, and has ended the turn in which it did."""
    eventually(lambda: is_read(client))
    for source, target in ((0, 1), (1, 0)):
        reactors.give(source, target, 0, 0)  # a message that moves nothing
    eventually(lambda: has_handled_all(reactors))


def is_read(client: Client) -> bool:
    """Whether both kernels' queues of what the client sent are empty, by Linux's table of connections."""
    here, there = client.socket.getsockname()[1], client.socket.getpeername()[1]
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    queues = {tuple(int(end.partition(":")[2], 16) for end in row[1:3]): row[4] for row in rows}
    return (queues[here, there][:9], queues[there, here][8:]) == ("00000000:", ":00000000")


def test_a_flood_does_not_keep_a_broker_from_registering(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Floods on older connections fill control's queue again and again; a registration overtakes most of it."""
    body = register_body([topic_config(f"T{n}") for n in range(100)])
    with LiveServer(tmp_path, reactors=2) as server, ExitStack() as stack:
        attackers = [stack.enter_context(server.connect()) for _ in range(ATTACKERS)]
        broker = stack.enter_context(server.connect())
        for client in [*attackers, broker]:
            client.request(206)
        caplog.set_level(logging.INFO, "rocketns")
        caplog.clear()
        with server.held_still():
            threads = [start(lambda c=client: flood(c)) for client in attackers]  # type: ignore[misc]
            held = server.controller.reactors
            assert held is not None
            eventually(lambda: held.queued_bytes >= WAITING_AT_LEAST)
            eventually(lambda: held.incoming_bytes >= ATTACKERS * 10_000)
            broker.post(103, register_ext(body=body), body)
            take(held, broker)
        threads += [start(lambda c=client: drain(c)) for client in attackers]  # type: ignore[misc]
        assert broker.receive().code == 0
        lines = [record.getMessage() for record in caplog.records]
        assert next(at for at, line in enumerate(lines) if "new broker registered" in line) <= ANSWERED_BEFORE_MAX
        for client in attackers:
            client.socket.shutdown(2)
        for thread in threads:
            thread.join()
