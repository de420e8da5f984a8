"""What a server has of its system: the supervisor's socket, the listening socket, free memory, and periodic jobs."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness.supervisor import Supervisor as StandIn
from rocketns._fast.system.process import release_free_memory
from rocketns.errors import StartupError
from rocketns.server import listening
from rocketns.server.clock import Jobs
from rocketns.server.process import Supervisor


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
    [("30000000", 10_000), ("2000000", 666), ("1", 1), ("0", 0), ("x", 0)],
)
def test_it_says_that_it_lives_three_times_in_the_limit(usec: str, every_ms: int) -> None:
    env = {"NOTIFY_SOCKET": "/nowhere", "WATCHDOG_USEC": usec}
    assert Supervisor(env, PID).alive_every_ms == every_ms
    assert Supervisor(env | {"WATCHDOG_PID": str(PID)}, PID).alive_every_ms == every_ms
    assert Supervisor(env | {"WATCHDOG_PID": "1"}, PID).alive_every_ms == 0
    assert Supervisor({"WATCHDOG_USEC": usec}, PID).alive_every_ms == 0


@pytest.mark.parametrize("address", ["/nowhere/notify", "vsock:2:1234", "a\0b"])
def test_a_supervisor_that_is_gone_costs_one_line_of_the_log(address: str, caplog: pytest.LogCaptureFixture) -> None:
    supervisor = Supervisor({"NOTIFY_SOCKET": address}, PID)
    supervisor.alive()
    supervisor.ready("serving")
    assert len(caplog.records) == 1


def test_a_supervisor_that_does_not_read_never_holds_up_control(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its queue is full after a few messages. Further messages are dropped."""
    with StandIn(str(tmp_path / "notify")) as stand_in:
        waits_s: list[float | None] = []

        class Noting(socket.socket):
            def settimeout(self, value: float | None) -> None:
                waits_s.append(value)
                super().settimeout(0)

        supervisor = Supervisor(stand_in.env, PID)
        fill(str(tmp_path / "notify"))
        monkeypatch.setattr(socket, "socket", Noting)
        supervisor.alive()
        assert stand_in.next_message(1) == "x"
        assert waits_s == [0.0]


def fill(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(BlockingIOError):
        sender.setblocking(False)
        while True:
            sender.sendto(b"x", path)


PID = 4321


def given(**more: str) -> dict[str, str]:
    return {"LISTEN_PID": str(PID), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "rocketns.socket"} | more


@pytest.fixture
def tcp(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A socket where the passed one is expected, which `passed` then owns."""
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    pass_on(made.fileno(), monkeypatch)
    yield made
    made.close()


def pass_on(descriptor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = os.dup(descriptor)
    os.set_inheritable(copy, True)
    monkeypatch.setattr(listening, "PASSED_FD", copy)


def test_sockets_for_another_process_are_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """With a shell script without ``exec`` between the supervisor and the server."""
    assert listening.passed(given(), PID + 1) is None
    assert f"they are for process {PID}, and this is {PID + 1}" in caplog.text


def test_the_passed_socket_is_taken_with_its_address(tcp: socket.socket) -> None:
    """Child processes do not inherit it."""
    tcp.listen()
    taken = listening.passed(given(), PID)
    assert taken is not None
    with taken.socket:
        assert taken.is_passed
        assert taken.address == tcp.getsockname()
        assert not os.get_inheritable(taken.socket.fileno())
        taken.listen()
        socket.create_connection(taken.address).close()


@pytest.mark.parametrize("count", ["2", "x"])
def test_another_number_of_sockets_is_refused(count: str) -> None:
    with pytest.raises(StartupError, match=r"rocketns listens at one socket"):
        listening.passed(given(LISTEN_FDS=count), PID)


@pytest.mark.usefixtures("tcp")
def test_a_socket_that_does_not_listen_is_refused() -> None:
    """Such as an accepted connection: Accept=yes in the socket unit."""
    with pytest.raises(StartupError, match=r"\(rocketns.socket\) is no listening TCP socket"):
        listening.passed(given(), PID)


@pytest.mark.parametrize("error", listening.NO_IPV6)
def test_without_ipv6_every_address_is_of_ipv4(error: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel without IPv6, and a container in which it is switched off."""
    bound_to = listening._bound_to

    def no_ipv6(family: int, address: tuple[object, ...]) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(error, os.strerror(error))
        return bound_to(family, address)

    monkeypatch.setattr(listening, "_bound_to", no_ipv6)
    for host in ("0.0.0.0", "::"):
        with listening.bind(host, 0).socket as bound:
            assert bound.family == socket.AF_INET
    with pytest.raises(StartupError, match=r"^Failed to bind to ::1:0: "):
        listening.bind("::1", 0)


BLOCK_BYTES, PAGE = 100_000, mmap.PAGESIZE


def pages_in_memory(begin: int, end: int) -> int:
    """Those of the whole pages between two addresses that have memory; pages that are not mapped have none."""
    libc, first = ctypes.CDLL(None, use_errno=True), -(-begin // PAGE) * PAGE
    count = max(0, (end - first) // PAGE)
    found = (ctypes.c_ubyte * max(1, count))()
    if libc.mincore(ctypes.c_void_p(first), ctypes.c_size_t(count * PAGE), found):
        assert ctypes.get_errno() == errno.ENOMEM
        return 0
    return sum(one & 1 for one in found)


def test_free_memory_below_a_block_in_use_goes_back() -> None:
    blocks = [bytes([number % 256]) * BLOCK_BYTES for number in range(500)]
    places = [id(block) for block in blocks]
    pinned = blocks[-1]
    blocks.clear()

    def held() -> int:
        return sum(pages_in_memory(place, place + BLOCK_BYTES) for place in places[:-1])

    before = held()
    release_free_memory()
    assert held() < before / 4
    assert len(pinned) == BLOCK_BYTES


def runs(first_ms: int, every_ms: int, instants: list[int]) -> list[int]:
    """Those of the given instants at which a job runs."""
    jobs, now, ran = Jobs(), [0], []
    jobs.add("job", lambda: ran.append(now[0]), first_ms=first_ms, every_ms=every_ms)
    for instant in instants:
        now[0] = instant
        jobs.run_due(instant)
    return ran


@pytest.mark.parametrize(
    ("first_ms", "every_ms", "instants", "ran"),
    [
        (100, 50, list(range(0, 301, 10)), [100, 150, 200, 250, 300]),
        (100, 50, [130, 149, 150, 199, 200], [130, 150, 200]),  # a late look does not shift the rate
        (100, 50, [99, 100_000, 100_000], [100_000]),  # missed runs are not made up for
        (0, 0, [0, 0, 1, 2, 2], [0, 1, 2]),  # an interval is at least a millisecond
    ],
)
def test_a_job_runs_when_due_and_then_at_its_rate(
    first_ms: int, every_ms: int, instants: list[int], ran: list[int]
) -> None:
    assert runs(first_ms, every_ms, instants) == ran


def test_the_next_job_is_known() -> None:
    jobs = Jobs()
    jobs.add("a", lambda: None, first_ms=70, every_ms=100)
    jobs.add("b", lambda: None, first_ms=50, every_ms=30)
    assert jobs.next_due_ms() == 50
    jobs.run_due(50)
    assert jobs.next_due_ms() == 70
    jobs.run_due(80)
    assert jobs.next_due_ms() == 110


def test_a_port_in_use_is_refused_with_the_process_that_uses_it_and_the_way_to_another_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        says = rf"It is used by process {os.getpid()} \(.+\)\. Stop that process, or choose another port by listenPort"
        with pytest.raises(StartupError, match=says):
            listening.bind("127.0.0.1", port)
