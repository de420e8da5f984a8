"""When a client is read: as long as there is no reason not to."""

from __future__ import annotations

from rocketns.shadow.relay.clients.outlet import Client

NOT_READY, SERVER_IS_FULL, TOO_MANY_OPEN = 1, 2, 4


class Reading:
    """Reasons are numbers with one bit each. A client that is gone does not mind."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._reasons = 0

    def pause(self, reason: int) -> None:
        """There is this reason now."""
        if not self._reasons:
            self._client.pause_reading()
        self._reasons |= reason

    def resume(self, reason: int) -> None:
        """This reason is over."""
        was, self._reasons = self._reasons, self._reasons & ~reason
        if was and not self._reasons:
            self._client.resume_reading()

    def is_paused(self, reason: int) -> bool:
        """Whether there is this reason."""
        return bool(self._reasons & reason)
