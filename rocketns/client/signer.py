"""What signs the requests that this process sends: see `rocketns.access.signature`, a layer further out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

Fields = dict[str, str | None]


class Signer(Protocol):
    """Adds an access key and a signature to requests without a body."""

    def signed(self, fields: Mapping[str, str | None]) -> Fields:
        """The fields of a request, and those that sign it."""
