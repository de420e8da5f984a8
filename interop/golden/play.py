"""Sends a scenario to a running name server and collects the answers as whole frames."""

from __future__ import annotations

import time

from interop.golden.compare import settle
from interop.golden.steps import Scenario, Step
from interop.harness.servers import NameServer
from interop.harness.wire import Client

ASK_AGAIN_FOR_S = 60.0
ASK_AGAIN_EVERY_S = 0.02


def play(scenario: Scenario, server: NameServer) -> list[bytes]:
    """The final answer of each step in order; empty for a step without an answer."""
    connections: dict[str, Client] = {}
    try:
        return [_answer(step, connections, server) for step in scenario.steps]
    finally:
        for connection in connections.values():
            connection.close()


def _answer(step: Step, connections: dict[str, Client], server: NameServer) -> bytes:
    if not step.request:
        connections.pop(step.connection).close()
        return b""
    if step.connection not in connections:
        connections[step.connection] = server.connect()
    connection = connections[step.connection]
    if not step.answer:
        connection.send(step.request)
        return b""
    deadline = time.monotonic() + ASK_AGAIN_FOR_S
    while True:
        answer = settle(_ask(connection, step), server.home)
        if step.until in answer or time.monotonic() > deadline:
            return answer
        time.sleep(ASK_AGAIN_EVERY_S)


def _ask(connection: Client, step: Step) -> bytes:
    connection.send(step.request)
    try:
        return connection.receive_frame()
    except (ConnectionError, TimeoutError) as error:
        raise AssertionError(f"no answer to {step.name!r}: {error}") from error
