"""A connection to a peer, as everything above the transports knows it."""

from __future__ import annotations

from typing import Protocol

from rocketns.routeinfo.events import Cause


class Connection(Protocol):
    """Compared by identity. The tables keep it, log lines show its ``address``; only control calls its methods.

    ``host`` is the one that counts for bytes, turns and rates: that of the socket. Where a trusted proxy announced the
    address, it is that address's.
    """

    def __hash__(self) -> int: ...

    @property
    def address(self) -> str: ...

    @property
    def host(self) -> str: ...

    @property
    def listener(self) -> int:
        """Which address of this server the peer connected to: 0 is listenPort, the others are those of views."""

    @property
    def is_announced(self) -> bool:
        """Whether the address is that of a PROXY header, which any peer can send, and not the socket's."""

    @property
    def is_tls(self) -> bool:
        """Whether it is encrypted."""

    @property
    def since_epoch_ms(self) -> int:
        """When it was opened."""

    @property
    def requests(self) -> int:
        """Requests that control took, and lookups that a reactor answered."""

    @property
    def language(self) -> str | None:
        """From the last call of `note_sender`; None before."""

    @property
    def version(self) -> int | None:
        """Likewise."""

    def note_sender(self, language: str | None, version: int) -> None:
        """What a request says of its sender: one of the names of `LanguageCode`, and a version number."""

    @property
    def is_known(self) -> bool:
        """From the last call of `note_known`; False before."""

    def note_known(self, is_known: bool) -> None:
        """Whether a broker registered from it. Such a connection is the last to be closed for holding bytes."""

    def allow_lookups(self) -> None:
        """Its peer may look routes up, whatever is in the requests: until the policy changes control is not asked."""

    @property
    def peer_names(self) -> tuple[str, ...]:
        """The subject and the alternative names of the peer's certificate. Empty unless one was shown and verified."""

    @property
    def standing(self) -> object | None:
        """From the last call of `note_standing`; None before."""

    def note_standing(self, standing: object) -> None:
        """What access control found of the peer: it is the same for each request of the connection."""

    @property
    def in_flight(self) -> int:
        """Requests that control has taken and not answered."""

    @property
    def is_open(self) -> bool:
        """Whether an answer can still be sent."""

    @property
    def has_ended(self) -> bool:
        """Whether the transport has reported the end of the connection."""

    @property
    def is_full(self) -> bool:
        """Whether the unsent answers exceed the high-water mark. Further requests of the peer wait then."""

    def begin_request(self) -> None:
        """Count one more request in flight."""

    def end_request(self) -> None:
        """Count one request in flight less: it is answered, or dropped."""

    def write(self, frame: bytes) -> None:
        """Add an answer. It is discarded if the connection is closed."""

    def flush(self) -> None:
        """Send the answers added so far."""

    def close(self, why: str) -> None:
        """End the connection after the answers already written."""

    def abort(self, cause: Cause, why: str = "") -> None:
        """End the connection at once. The broker on it is unregistered for ``cause``."""
