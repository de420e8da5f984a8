"""The listening socket that a supervisor passes: which one is taken, and what is refused."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketns.addresses import unmapped
from rocketns.errors import StartupError
from rocketns.server import listening

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


def test_without_a_supervisor_there_is_none() -> None:
    assert listening.passed({}, PID) is None
    assert listening.passed(given(LISTEN_FDS="0"), PID) is None


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


@pytest.mark.parametrize("count", ["2", "-1", "x", "", "99999999999999999999"])
def test_another_number_of_sockets_is_refused(count: str) -> None:
    with pytest.raises(StartupError, match=r"rocketns listens at one socket"):
        listening.passed(given(LISTEN_FDS=count), PID)


@pytest.mark.usefixtures("tcp")
def test_a_socket_that_does_not_listen_is_refused() -> None:
    """Such as an accepted connection: Accept=yes in the socket unit."""
    with pytest.raises(StartupError, match=r"\(rocketns.socket\) is no listening TCP socket"):
        listening.passed(given(), PID)


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_SEQPACKET])
def test_a_socket_of_another_family_is_refused(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, kind) as made:
        made.bind("")  # an abstract name that the kernel chooses
        made.listen()
        pass_on(made.fileno(), monkeypatch)
        with pytest.raises(StartupError, match="is no listening TCP socket"):
            listening.passed(given(), PID)


def test_a_file_and_a_closed_descriptor_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(os.devnull).open("rb") as file:
        pass_on(file.fileno(), monkeypatch)
        with pytest.raises(StartupError, match="is not usable"):
            listening.passed(given(), PID)
    monkeypatch.setattr(listening, "PASSED_FD", 1_000_000)
    with pytest.raises(StartupError, match="is not usable"):
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


def test_a_name_with_addresses_of_both_families_is_the_one_of_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 0, 0, 0)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_more: found)
    with listening.bind("both.example", 0).socket as bound:
        assert bound.getsockname()[0] == "127.0.0.1"


def test_the_scope_of_an_address_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """fe80::1%eth0 is another socket address than fe80::1."""
    found = [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fe80::1", 0, 0, 7))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_more: found)
    assert listening._resolved("fe80::1%eth0", 9876) == (socket.AF_INET6, ("fe80::1", 9876, 0, 7))


@pytest.mark.parametrize(
    ("host", "shown"),
    [("::ffff:10.0.0.1", "10.0.0.1"), ("::ffff:1", "::ffff:1"), ("2001:db8::ffff:a00:1", "2001:db8::ffff:a00:1"),
     ("10.0.0.1", "10.0.0.1"), ("::1", "::1")],
)  # fmt: skip
def test_an_ipv4_address_of_a_socket_for_both_families_is_shown_as_ipv4(host: str, shown: str) -> None:
    assert unmapped(host) == shown
