"""SIGQUIT prints the stacks of all threads, SIGHUP re-reads files, other signals do nothing. `startup` has SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable

from rocketns import __version__
from rocketns.logtext import one_line

log = logging.getLogger("rocketns.server.signals")

# By default these end the process. Without SIGPIPE and SIGXFSZ the write fails instead.
IGNORED = (
    signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGIO, signal.SIGPIPE, signal.SIGXFSZ,
)  # fmt: skip
STACK_FRAMES_MAX = 100


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
