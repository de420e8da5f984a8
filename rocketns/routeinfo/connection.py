"""A connection to a peer, as everything above the reactors knows it."""

from __future__ import annotations

from typing import Any

from rocketns.protocol.codes import LanguageCode
from rocketns.routeinfo.events import Cause

LANGUAGES: dict[str | None, str] = {name: name for name in LanguageCode.__members__}


class Connection:
    """Compared by identity. The tables keep it, log lines show its ``address``; only control calls its methods.

    ``host`` is the one that counts for bytes, turns and rates: that of the socket. Where a trusted proxy announced the
    address, it is that address's. ``is_announced``: the address is that of a PROXY header, which any peer can send, and
    not the socket's. ``listener``: which address of this server the peer connected to; 0 is listenPort, the others are
    those of views. ``in_flight``: requests that control has taken and not answered. ``is_broker``: a broker registered
    from it, so it is closed last when bytes must be freed. ``language`` (a name of `LanguageCode`) and
    ``version`` are what the last request said. ``peer_names``: the subject and the alternative names of the peer's
    certificate, empty unless one was shown and verified. ``evidence``: what access control found of the peer.

    ``is_open``: an answer can still be sent. ``has_ended``: the end was reported. ``is_full``: the unsent answers
    exceed the high-water mark, and further requests of the peer wait.
    """

    __slots__ = (
        "address", "evidence", "host", "in_flight", "is_announced", "is_broker", "is_tls", "language", "listener",
        "peer_names", "received", "since_epoch_ms", "version",
    )  # fmt: skip
    is_open = True
    has_ended = False

    def __init__(self, address: str, host: str, since_epoch_ms: int, *, is_announced: bool = False) -> None:
        self.address = address
        self.host = host
        self.since_epoch_ms = since_epoch_ms
        self.is_announced = is_announced
        self.is_tls = self.is_broker = False
        self.listener = self.in_flight = self.received = 0
        self.language: str | None = None
        self.version: int | None = None
        self.peer_names: tuple[str, ...] = ()
        self.evidence: Any = None

    @property
    def requests(self) -> int:
        """Requests that control took, and lookups that a reactor answered."""
        return self.received

    def note_sender(self, language: str | None, version: int) -> None:
        """A peer may name a language of any length: one that Java does not know is another. Its bytes are not kept."""
        self.language = LANGUAGES.get(language, LanguageCode.OTHER.name)
        self.version = version

    @property
    def is_full(self) -> bool:
        return False

    def allow_lookups(self) -> None:
        """Its peer may look routes up, whatever is in the requests: until the policy changes control is not asked."""

    def release(self, frame_bytes: int) -> None:
        """One of its frames no longer waits for control."""

    def begin_request(self) -> None:
        self.in_flight += 1
        self.received += 1

    def end_request(self) -> None:
        """A request is answered, or dropped."""
        self.in_flight -= 1

    def write(self, frame: bytes) -> None:
        """Add an answer. It is discarded if the connection is closed."""

    def flush(self) -> None:
        """Send the answers added so far."""

    def close(self, why: str) -> None:
        """End the connection after the answers already written."""

    def abort(self, cause: Cause, why: str = "") -> None:
        """End the connection at once. The broker on it is unregistered for ``cause``."""
