"""RocketMQ's signature of a request, independent of rocketns: AclUtils and AclSigner."""

from __future__ import annotations

import hmac
from base64 import b64encode

from tests.hostile.attacks.policy import KEYS


def signed(key: str, ext: dict[str, str] | None = None, body: bytes = b"", *, secret: str = "") -> dict[str, str]:
    """The ext fields with those of a signature by this key. ``secret``: another one than the key's."""
    fields = (ext or {}) | {"AccessKey": key}
    content = "".join(value for _, value in sorted(fields.items())).encode() + body
    digest = hmac.digest((secret or KEYS[key]).encode(), content, "sha1")
    return fields | {"Signature": b64encode(digest).decode()}
