"""What the process hears and says: signals, and sd_notify to its supervisor, such as systemd.

SIGQUIT prints the stacks of all threads, SIGHUP re-reads files, other signals do nothing. `startup` has SIGTERM.

The protocol of sd_notify is public and stable: a datagram of ``NAME=value`` lines to the socket that NOTIFY_SOCKET
names, see sd_notify(3). This is shorter than the use of a library. sdnotify takes no sockets and has had no release
since 2017; systemd-python and cysystemd need libsystemd and its headers.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping

from rocketns import __version__
from rocketns._fast.system.process import release_free_memory as release_free_memory
from rocketns.javatext import LONG_MAX, parse_long
from rocketns.logs import one_line

log = logging.getLogger("rocketns.server.process")

# By default these end the process. Without SIGPIPE and SIGXFSZ the write fails instead.
IGNORED = (
    signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGIO, signal.SIGPIPE, signal.SIGXFSZ,
)  # fmt: skip
STACK_FRAMES_MAX = 100
# Memory that is free but still the process' own goes back to the system: after a flood, tens of megabytes.
RELEASE_MEMORY_INTERVAL_MS = 10_000


def ignore_others() -> None:
    """Ignore the signals without meaning, and block SIGQUIT for its own thread. Call this before any thread starts."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGQUIT})


def print_stacks_at_sigquit(counts: Callable[[], dict[str, int]]) -> None:
    """Start the thread that prints the stacks. It works while control is busy, and only it waits for a full pipe."""
    threading.Thread(target=_wait_for_sigquit, args=(counts,), name="signal-dispatcher", daemon=True).start()


def _wait_for_sigquit(counts: Callable[[], dict[str, int]]) -> None:
    while True:
        signal.sigwait({signal.SIGQUIT})
        try:
            _write(thread_dump(counts()))
        except Exception:
            log.exception("the thread dump failed")


def thread_dump(counts: dict[str, int]) -> str:
    """The stacks of all threads and the lengths of all queues. The time is local, as in a JVM's dump."""
    now = time.strftime("%Y-%m-%d %H:%M:%S %z")
    parts = [f"{now}\nFull thread dump rocketns {__version__}, process {os.getpid()}:\n"]
    names = {thread.ident: thread for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        thread = names.get(ident)
        name, native = (thread.name, thread.native_id) if thread else ("?", None)
        parts.append(f'\n"{name}" nid={native}\n')
        parts += traceback.format_stack(frame, STACK_FRAMES_MAX)
    parts.append("\nWaiting and open:\n")
    parts += [f"  {name}: {number}\n" for name, number in counts.items()]
    return "".join(one_line(line) + "\n" for line in "".join(parts).splitlines())


def _write(text: str) -> None:
    """Write to standard output, as a JVM does, even if the log goes to a file."""
    data = memoryview(text.encode("utf-8", "backslashreplace"))
    while data and sys.stdout is not None:
        try:
            data = data[os.write(sys.stdout.fileno(), data) :]
        except OSError:  # there is no reader
            return


def reread_at_sighup(reread: Callable[[], None]) -> None:
    """Call ``reread`` on the event loop at each SIGHUP. Its exceptions are logged."""

    def on_hangup() -> None:
        try:
            reread()
        except Exception:
            log.exception("re-reading the files after SIGHUP failed")

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, on_hangup)


supervisor_log = logging.getLogger("rocketns.supervisor")

# At the start and at the end, where nobody waits for control. In between a full socket costs the message.
SEND_WITHIN_S = 1.0
TICK_MS = 1_000


class Supervisor:
    """Control only. ``environment`` is that of the process; without NOTIFY_SOCKET nothing is sent.

    A message that cannot be sent is logged once. The server does not depend on it.
    """

    def __init__(self, environment: Mapping[str, str], pid: int) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        self._failed = False
        self._status: str | None = None
        self.alive_every_ms = _alive_every_ms(environment, pid) if self._address else 0

    def ready(self, status: str) -> None:
        """The server answers. ``status`` is shown by ``systemctl status``."""
        self._status = status
        self._send(f"READY=1\nSTATUS={status}", SEND_WITHIN_S)

    def reloading(self) -> None:
        """The configuration is being read again. `reloaded` follows. Neither says anything before `ready`."""
        if self._status is not None:
            self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def reloaded(self) -> None:
        """The configuration was read again."""
        if self._status is not None:
            self._send(f"READY=1\nSTATUS={self._status}")

    def stopping(self) -> None:
        """The server ends."""
        self._send("STOPPING=1", SEND_WITHIN_S)

    def alive(self) -> None:
        """Control goes on. Call it every ``alive_every_ms`` where that is not 0."""
        self._send("WATCHDOG=1")

    def _send(self, text: str, within_s: float = 0.0) -> None:
        if not self._address:
            return
        name = "\0" + self._address[1:] if self._address.startswith("@") else self._address  # @: the abstract namespace
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.settimeout(within_s)
                sender.sendto(text.encode("utf-8", "backslashreplace"), name)
        except (OSError, ValueError) as error:
            if not self._failed:
                supervisor_log.warning(
                    "the supervisor at NOTIFY_SOCKET=%s cannot be sent %s: %s", self._address, text, error
                )
            self._failed = True


def _alive_every_ms(environment: Mapping[str, str], pid: int) -> int:
    """A third of the time after which the supervisor takes the process for hung, so that one lost message is harmless.

    Rounded down to whole seconds: other periodic jobs run each second, so it costs no wake-up of its own. 0: nobody
    watches this process.
    """
    text = environment.get("WATCHDOG_USEC")
    if text is None or environment.get("WATCHDOG_PID", str(pid)) != str(pid):
        return 0
    limit_us = parse_long(text, 1, LONG_MAX)
    if limit_us is None:
        supervisor_log.warning("WATCHDOG_USEC=%s has no effect: it is no number of microseconds", text)
        return 0
    third_ms = max(1, limit_us // 3_000)
    return third_ms - third_ms % TICK_MS if third_ms > TICK_MS else third_ms


def be_nicer(niceness: int) -> None:
    """Make this thread so much nicer than the process."""
    if sys.platform == "linux":  # on other systems a thread has no niceness of its own
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + niceness)
