"""A secret key: it signs, and shows itself nowhere."""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Iterable


class Secret:
    """The HMAC-SHA1 of an access key. Neither its text nor its ``repr`` has the secret."""

    __slots__ = ("_made",)

    def __init__(self, text: str) -> None:
        self._made = hmac.new(text.encode("utf-8", "replace"), digestmod="sha1")

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")

    def signature(self, parts: Iterable[bytes | memoryview]) -> bytes:
        """The signature of the joined parts: base64, 28 characters."""
        signing = self._made.copy()
        for part in parts:
            signing.update(part)
        return b64encode(signing.digest())

    def is_signature(self, given: str, parts: Iterable[bytes | memoryview]) -> bool:
        """Whether it is their signature. The comparison takes the same time wherever they differ."""
        return hmac.compare_digest(self.signature(parts), given.encode("utf-8", "replace"))
