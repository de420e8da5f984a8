"""Connections as the totals of bytes see them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False)
class Peer:
    """``host`` is what stands before the number in its name."""

    name: str
    is_known: bool = False

    @property
    def host(self) -> str:
        return self.name.rstrip("0123456789")
