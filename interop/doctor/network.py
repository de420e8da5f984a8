"""Machines that share this kernel: each is a network namespace with an address on one switch.

A namespace has no name: it ends with the last process in it and the descriptor that is held here, so a run that is
killed leaves nothing behind. What is sent elsewhere than to the machines is dropped by the switch without an answer, as
firewalls do.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

HERE = Path("/proc/thread-self/ns/net")
CLONE_NEWNET = 0x40000000
PREFIX = "10.20.0."
GATEWAY = f"{PREFIX}1"
COMMAND_TIMEOUT_S = 120
_libc = ctypes.CDLL(None, use_errno=True)


class Machine:
    """A machine at ``address``, with a loopback interface. A name tells it apart in messages."""

    def __init__(self, name: str, address: str = "") -> None:
        self.name, self.address = name, address
        self._namespace = _new_namespace()
        self.run("ip link set lo up")

    @property
    def path(self) -> str:
        """What ``ip`` takes in place of a namespace's name."""
        return f"/proc/{os.getpid()}/fd/{self._namespace}"

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Meanwhile sockets and processes that this thread makes are on the machine."""
        outside = os.open(HERE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            enter(self._namespace)
            yield
        finally:
            enter(outside)
            os.close(outside)

    def run(self, *commands: str) -> None:
        """Run commands on it, one after the other; CalledProcessError with what a failed one printed."""
        with self.inside():
            for command in commands:
                subprocess.run(command.split(), check=True, timeout=COMMAND_TIMEOUT_S, capture_output=True, text=True)

    def unplug(self) -> None:
        """Take it off the network. Its connections learn nothing of it."""
        self.run("ip link set eth0 down")

    def close(self) -> None:
        os.close(self._namespace)


class IpScope(contextlib.ExitStack):
    """A switch and the machines that are plugged into it. Its end lets go of them."""

    def __init__(self) -> None:
        super().__init__()
        self._switch = self.enter_context(contextlib.closing(Machine("switch", GATEWAY)))
        self._switch.run(
            "ip link add switch type bridge", "ip link set switch up", f"ip addr add {GATEWAY}/24 dev switch",
            "sysctl -qw net.ipv4.ip_forward=1", "ip route add blackhole default",
        )  # fmt: skip

    def machine(self, name: str, number: int) -> Machine:
        """A machine with the network's address of that number."""
        machine = self.enter_context(contextlib.closing(Machine(name, f"{PREFIX}{number}")))
        port = f"port{number}"
        machine.run(
            f"ip link add eth0 type veth peer name {port} netns {self._switch.path}",
            f"ip addr add {machine.address}/24 dev eth0", "ip link set eth0 up",
        )  # fmt: skip
        self._switch.run(f"ip link set {port} master switch", f"ip link set {port} up")
        machine.run(f"ip route add default via {GATEWAY}")
        return machine


@cache
def why_no_network() -> str:
    """Why no machines can be made here, or nothing."""
    if missing := [program for program in ("ip", "sysctl") if shutil.which(program) is None]:
        return f"not found on the PATH: {', '.join(missing)}"
    try:
        with IpScope() as network:
            network.machine("host", 2)
    except subprocess.CalledProcessError as error:
        return f"{' '.join(error.cmd)}: {error.stderr.strip()}"
    except OSError as error:
        return f"no network namespace can be made: {error.strerror}"
    return ""


def _new_namespace() -> int:
    """A descriptor of a new namespace, which a thread of its own enters."""
    made: list[int | OSError] = []
    thread = threading.Thread(target=lambda: made.append(_leave_for_a_new_one()))
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def _leave_for_a_new_one() -> int | OSError:
    if _libc.unshare(CLONE_NEWNET):
        return OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return os.open(HERE, os.O_RDONLY | os.O_CLOEXEC)


def enter(namespace: int) -> None:
    """From now on this thread is on the machine of a namespace."""
    if _libc.setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
