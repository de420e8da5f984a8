"""SIGSTOP for longer than the heartbeat time-out: no broker that keeps sending is lost."""

from __future__ import annotations

import re
import signal
import time
from contextlib import ExitStack

from interop.harness import codes
from interop.harness.wire import Client, eventually, frame, json_header
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import group
from tests.hostile.conftest import StartServer

BROKERS = 12
TIMEOUT_S = 6.0  # which their registrations do not take, even on a busy machine
SCAN_MS = 500
FIRST_SCAN_S = 5.0
SCANNED = re.compile(r"The name server did not run for up to.*start scanNotActiveBroker", re.S)


def send_heartbeat(connection: Client, names: Names) -> None:
    """The heartbeat waits in the socket until the server continues."""
    fields = {"clusterName": names.cluster, "brokerName": names.broker, "brokerAddr": names.addr()}
    connection.send(frame(json_header(codes.BROKER_HEARTBEAT, fields)))


def test_a_server_that_was_stopped_keeps_its_brokers(start_server: StartServer) -> None:
    """The first scan is due while the process is stopped, so real time must pass."""
    server = start_server({"scanNotActiveBrokerInterval": SCAN_MS})
    started = time.monotonic()
    brokers = [Names() for _ in range(BROKERS)]
    with ExitStack() as stack:
        connections = [stack.enter_context(server.connect()) for _ in brokers]
        for connection, names in zip(connections, brokers, strict=True):
            registered(connection, names, heartbeatTimeoutMillis=int(TIMEOUT_S * 1000))
        server.process.signal(signal.SIGSTOP)
        for connection, names in zip(connections, brokers, strict=True):
            send_heartbeat(connection, names)
        eventually(lambda: time.monotonic() > started + FIRST_SCAN_S + TIMEOUT_S + 2)
        logged = len(server.process.text())
        server.process.signal(signal.SIGCONT)
        eventually(lambda: SCANNED.search(server.process.text(), logged))
        with server.connect() as client:
            assert sum(group(client, names.broker) is None for names in brokers) == 0
