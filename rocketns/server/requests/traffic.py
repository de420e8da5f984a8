"""What control notes of a connection's requests and of who sends them, the same on both transports."""

from __future__ import annotations


class Traffic:
    """A part of each `rocketns.routeinfo.connection.Connection`. Control only."""

    __slots__ = (
        "host", "in_flight", "is_announced", "is_known", "language", "listener", "peer_names", "received",
        "since_epoch_ms", "standing", "version",
    )  # fmt: skip

    def __init__(self, since_epoch_ms: int, host: str, *, is_announced: bool = False) -> None:
        """``host``: whose bytes, turns and rates the connection's are."""
        self.host = host
        self.is_announced = is_announced
        self.listener = 0
        self.since_epoch_ms = since_epoch_ms
        self.in_flight = 0
        self.is_known = False
        self.received = 0  # requests that control took
        self.language: str | None = None
        self.version: int | None = None
        self.peer_names: tuple[str, ...] = ()
        self.standing: object | None = None

    @property
    def requests(self) -> int:
        return self.received

    def note_sender(self, language: str | None, version: int) -> None:
        self.language, self.version = language, version

    def note_known(self, is_known: bool) -> None:
        self.is_known = is_known

    def note_standing(self, standing: object) -> None:
        self.standing = standing

    def allow_lookups(self) -> None:
        """Control answers the lookups of most connections, and decides about each of them."""

    def begin_request(self) -> None:
        self.in_flight += 1
        self.received += 1

    def end_request(self) -> None:
        self.in_flight -= 1
