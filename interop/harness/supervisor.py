"""A small stand-in for systemd: it keeps the listening socket during restarts and takes notifications."""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from pathlib import Path
from types import TracebackType

from interop.harness.process import Process

# LISTEN_PID is the process id of the server, which is known only after the fork.
PASS = """
import os, sys
descriptor, *command = sys.argv[1:]
os.dup2(int(descriptor), 3)
os.environ["LISTEN_PID"] = os.environ["WATCHDOG_PID"] = str(os.getpid())
os.execvp(command[0], command)
"""
ABSTRACT = "@"


class Supervisor:
    """Listens from its construction on, also while no server runs. A server is a NameServer with ``supervisor=…``.

    ``notify`` is the path of the socket for notifications. With ``@`` as its first character the socket is abstract.
    """

    def __init__(self, notify: str, *, host: str = "127.0.0.1", watchdog_us: int = 0) -> None:
        self.listening = socket.create_server((host, 0), backlog=1024)
        self.port: int = self.listening.getsockname()[1]
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notified.bind("\0" + notify[1:] if notify.startswith(ABSTRACT) else notify)
        self.env = {"LISTEN_FDS": "1", "LISTEN_FDNAMES": "rocketns.socket", "NOTIFY_SOCKET": notify}
        if watchdog_us:
            self.env["WATCHDOG_USEC"] = str(watchdog_us)

    def start(self, command: list[str], output: Path, env: dict[str, str], cwd: Path) -> Process:
        """Start the server as systemd does: the socket is descriptor 3 of a process that knows its own id."""
        descriptor = self.listening.fileno()
        words = [sys.executable, "-c", PASS, str(descriptor), *command]
        return Process(words, output, self.env | env, cwd=cwd, pass_fds=(descriptor,))

    def next_message(self, within_s: float) -> str | None:
        """The next notification; None if none comes in time."""
        self.notified.settimeout(within_s)
        with contextlib.suppress(TimeoutError):
            return self.notified.recv(1 << 16).decode()
        return None

    def wait_for(self, text: str, within_s: float = 60.0) -> str:
        """The first notification that has this text. AssertionError if none comes in time."""
        ends = time.monotonic() + within_s
        heard = []
        while (left_s := ends - time.monotonic()) > 0:
            message = self.next_message(left_s)
            if message is not None and text in message:
                return message
            heard.append(message)
        raise AssertionError(f"no {text!r} among the notifications {heard}")

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self.listening.close()
        self.notified.close()
        path = self.env["NOTIFY_SOCKET"]
        if not path.startswith(ABSTRACT):
            Path(path).unlink(missing_ok=True)
