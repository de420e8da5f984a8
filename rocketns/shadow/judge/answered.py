"""What two servers, and the reference, answered to a question that was asked again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Again:
    """``reference`` where there is one. ``failure`` says why there are no answers."""

    request: bytes = b""
    upstream: bytes | None = None
    own: bytes | None = None
    reference: bytes | None = None
    failure: str = ""
