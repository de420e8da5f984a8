"""A supervisor keeps the listening socket: connections wait for a restart, and a hung server is noticed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness.supervisor import Supervisor
from tests.behaviour.calls import settings
from tests.hostile.conftest import StartServer

# Far more than three intervals between two messages, even on a busy machine.
WATCHDOG_US = 300_000


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(str(tmp_path / "notify"), watchdog_us=WATCHDOG_US) as made:
        yield made


def test_it_says_when_it_is_ready_reloads_and_stops(start_server: StartServer, supervisor: Supervisor) -> None:
    """When it reports ready, it answers."""
    server = start_server(supervisor=supervisor)
    ready = supervisor.wait_for("READY=1")
    assert f"STATUS=The Name Server boot success. serializeType=JSON, address 127.0.0.1:{supervisor.port}" in ready
    server.process.signal(signal.SIGHUP)
    supervisor.wait_for("RELOADING=1\nMONOTONIC_USEC=")
    supervisor.wait_for("READY=1")
    assert server.stop() == 0
    supervisor.wait_for("STOPPING=1")


def test_the_socket_decides_the_address(start_server: StartServer, supervisor: Supervisor) -> None:
    """The log names the properties that ask for another address."""
    server = start_server({"listenPort": 9999}, supervisor=supervisor)
    with server.connect() as client:
        shown = settings(client)
    assert (shown["bindAddress"], shown["listenPort"]) == ("127.0.0.1", str(supervisor.port))
    server.process.wait_for(f"listenPort='9999' has no effect: .* listens at 127.0.0.1:{supervisor.port}")
    assert "bindAddress='127.0.0.1' has no effect" not in server.process.text()


def test_a_hung_control_thread_is_noticed(start_server: StartServer, supervisor: Supervisor) -> None:
    """Control waits for a configuration file that is a pipe. The reactors continue, so a probe of the port succeeds.

    The supervisor then ends the process with SIGABRT, and the stack in the log shows the reason.
    """
    server = start_server(supervisor=supervisor)
    supervisor.wait_for("WATCHDOG=1")
    supervisor.wait_for("WATCHDOG=1")
    server.config_path.unlink()
    os.mkfifo(server.config_path)
    server.process.signal(signal.SIGHUP)
    supervisor.wait_for("RELOADING=1")
    server.process.signal(signal.SIGABRT)
    assert server.process.wait() == -signal.SIGABRT
    assert "in _reread" in server.process.text()
