"""Signed requests as clients make them, independent of rocketns: HMAC-SHA1 over the values by name, and the body."""

from __future__ import annotations

import base64
import hashlib
import hmac

KEY, SECRET = "rocketmq", "12345678"


def sign(values: str, body: bytes = b"", secret: str = SECRET) -> str:
    """The signature of the joined values."""
    return base64.b64encode(hmac.new(secret.encode(), values.encode() + body, hashlib.sha1).digest()).decode()


def signed(ext: dict[str, str], body: bytes = b"", *, key: str = KEY, secret: str = SECRET) -> dict[str, str]:
    """The ext fields with access key and signature. The names must be ASCII."""
    fields = ext | {"AccessKey": key}
    return fields | {"Signature": sign("".join(fields[name] for name in sorted(fields)), body, secret)}
