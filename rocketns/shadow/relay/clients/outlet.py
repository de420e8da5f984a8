"""What goes out to one client, and when it is read. Frames of the two servers never mix."""

from __future__ import annotations

from typing import Protocol

from rocketns.shadow.relay.leg import WAITS_FOR_FRAME, Leg

NOT_READY, SERVER_IS_FULL, TOO_MANY_OPEN = 1, 2, 4


class Client(Protocol):
    """The client's end of a connection, plain or after TLS."""

    def write(self, data: bytes) -> None: ...
    def write_eof(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def close(self) -> None: ...
    def reset(self) -> None: ...
    def peer(self) -> tuple[str, int]: ...
    def local(self) -> tuple[str, int]: ...


class Outlet:
    """``streamer`` is the leg of which a part of a frame was sent; whole frames of the other leg wait for its end."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.streamer: Leg | None = None
        self._waiting: list[bytes] = []
        self._together: list[bytes] | None = None

    def is_free_for(self, leg: Leg) -> bool:
        """Whether bytes of this leg may go out now."""
        return self.streamer is None or self.streamer is leg

    def write(self, data: bytes) -> None:
        """Bytes of the streamer, or of a frame whose leg is the streamer from now on."""
        if self._together is None:
            self._client.write(data)
        else:
            self._together.append(data)

    def send(self, data: bytes) -> None:
        """A whole frame."""
        if self.streamer is None:
            self.write(data)
        else:
            self._waiting.append(data)

    def begin_together(self) -> None:
        """What is written from now on is one write to the client."""
        self._together = []

    def end_together(self) -> None:
        """Write it."""
        together, self._together = self._together, None
        if together:
            self._client.write(together[0] if len(together) == 1 else b"".join(together))

    def end_frame(self, *legs: Leg | None) -> None:
        """The streamer's frame is complete. The legs that waited for that go on."""
        self.streamer = None
        waiting, self._waiting = self._waiting, []
        for data in waiting:
            self.write(data)
        for leg in legs:
            if leg is not None:
                leg.resume(WAITS_FOR_FRAME)


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
