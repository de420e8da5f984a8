"""What the server tells its supervisor, such as systemd: that it is ready, that it stops, that it lives (sd_notify).

The protocol is public and stable: a datagram of ``NAME=value`` lines to the socket that NOTIFY_SOCKET names, see
sd_notify(3). This module is shorter than the use of a library. sdnotify takes no sockets and has had no release since
2017; systemd-python and cysystemd need libsystemd and its headers.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Mapping

from rocketns.javatext import LONG_MAX, parse_long

log = logging.getLogger("rocketns.supervisor")

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
            self._note_failure(text, error)

    def _note_failure(self, text: str, error: Exception) -> None:
        if not self._failed:
            log.warning("the supervisor at NOTIFY_SOCKET=%s cannot be sent %s: %s", self._address, text, error)
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
        log.warning("WATCHDOG_USEC=%s has no effect: it is no number of microseconds", text)
        return 0
    third_ms = max(1, limit_us // 3_000)
    return third_ms - third_ms % TICK_MS if third_ms > TICK_MS else third_ms
