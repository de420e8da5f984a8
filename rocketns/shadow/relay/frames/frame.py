"""A frame on its way, and a request that two frames answer."""

from __future__ import annotations

from rocketns.shadow.relay.frames.heads import Head


class Frame:
    """A frame that comes, or came. ``size`` is 0 until its first 8 bytes are there.

    ``parts`` has its bytes so far, None where there is no room to keep them; those of a pinned one are always kept.
    ``head`` is None before `is_readable`, and where it has no opaque. ``passes``: what came of it was passed on.
    ``asked`` is the request that it answers.
    """

    __slots__ = ("asked", "came", "head", "header_end", "is_pinned", "is_readable", "kept", "parts", "passes", "size")

    def __init__(self, *, is_pinned: bool) -> None:
        self.size = self.came = self.header_end = self.kept = 0
        self.parts: list[bytes] | None = []
        self.head: Head | None = None
        self.is_pinned = is_pinned
        self.is_readable = self.passes = False
        self.asked: Asked | None = None

    def data(self) -> bytes:
        """What came, which was kept."""
        parts = self.parts or [b""]
        if len(parts) > 1:
            self.parts = parts = [b"".join(parts)]
        return parts[0]

    def piece(self) -> bytes:
        """All of a frame that came in one piece."""
        assert self.parts is not None
        return self.parts[0]

    @property
    def has_ended(self) -> bool:
        """Whether all of it came."""
        return self.came == self.size > 0


class Asked:
    """A request. ``up`` and ``own`` are the answers, also those that have not ended; their times are those of the end.

    ``serve``: rocketns' answer goes out, not the upstream's. ``is_sent``: an answer went out, or began to.
    ``after`` is the next one with the same opaque. ``is_doubtful``: which answer belongs to which of them is not known.
    """

    __slots__ = (
        "after", "at", "code", "is_doubtful", "is_over", "is_sent", "opaque", "own", "own_at", "request", "serve", "up",
        "up_at",
    )  # fmt: skip

    def __init__(self, request: Frame, head: Head, at: float, *, serve: bool) -> None:
        self.request, self.opaque, self.code, self.at, self.serve = request, head.opaque, head.code, at, serve
        self.up: Frame | None = None
        self.own: Frame | None = None
        self.up_at: float | None = None
        self.own_at: float | None = None
        self.is_sent = self.is_over = self.is_doubtful = False
        self.after: Asked | None = None

    @property
    def withholds(self) -> bool:
        """Whether the upstream's answer must not go out when it comes."""
        return self.serve and self.up_at is None and not self.is_over
