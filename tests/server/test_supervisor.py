"""Messages to the supervisor: the texts of sd_notify, on a path and in the abstract namespace."""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness.supervisor import Supervisor as StandIn
from rocketns.server.supervisor import Supervisor

PID = 4321


@pytest.fixture(params=["path", "abstract"])
def stand_in(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StandIn]:
    name = f"@rocketns-{secrets.token_hex(8)}" if request.param == "abstract" else str(tmp_path / "notify")
    with StandIn(name) as made:
        yield made


def test_each_state_is_one_message(stand_in: StandIn) -> None:
    supervisor = Supervisor(stand_in.env, PID)
    supervisor.reloading()
    supervisor.reloaded()  # a signal during the start must not say that the server is ready
    supervisor.ready("serving")
    assert stand_in.next_message(1) == "READY=1\nSTATUS=serving"
    supervisor.alive()
    assert stand_in.next_message(1) == "WATCHDOG=1"
    supervisor.reloading()
    assert (stand_in.next_message(1) or "").startswith("RELOADING=1\nMONOTONIC_USEC=")
    supervisor.reloaded()
    assert stand_in.next_message(1) == "READY=1\nSTATUS=serving"
    supervisor.stopping()
    assert stand_in.next_message(1) == "STOPPING=1"


@pytest.mark.parametrize(
    ("usec", "every_ms"),
    [("30000000", 10_000), ("5000000", 1_000), ("2000000", 666), ("4000", 1), ("1", 1), ("0", 0), ("x", 0), ("-5", 0)],
)
def test_it_says_that_it_lives_three_times_in_the_limit(usec: str, every_ms: int) -> None:
    env = {"NOTIFY_SOCKET": "/nowhere", "WATCHDOG_USEC": usec}
    assert Supervisor(env, PID).alive_every_ms == every_ms
    assert Supervisor(env | {"WATCHDOG_PID": str(PID)}, PID).alive_every_ms == every_ms
    assert Supervisor(env | {"WATCHDOG_PID": "1"}, PID).alive_every_ms == 0
    assert Supervisor({"WATCHDOG_USEC": usec}, PID).alive_every_ms == 0


def test_a_server_without_a_supervisor_sends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    Supervisor({}, PID).ready("serving")
    assert not caplog.records


@pytest.mark.parametrize("address", ["/nowhere/notify", "vsock:2:1234", "/" + "x" * 200, "a\0b"])
def test_a_supervisor_that_is_gone_costs_one_line_of_the_log(address: str, caplog: pytest.LogCaptureFixture) -> None:
    supervisor = Supervisor({"NOTIFY_SOCKET": address}, PID)
    supervisor.alive()
    supervisor.ready("serving")
    assert len(caplog.records) == 1


def test_a_supervisor_that_does_not_read_never_holds_up_control(tmp_path: Path) -> None:
    """Its queue is full after a few messages. Further messages are dropped."""
    with StandIn(str(tmp_path / "notify")) as stand_in:
        supervisor = Supervisor(stand_in.env, PID)
        fill(str(tmp_path / "notify"))
        supervisor.alive()
        assert stand_in.next_message(1) == "x"


def fill(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(BlockingIOError):
        sender.setblocking(False)
        while True:
            sender.sendto(b"x", path)
