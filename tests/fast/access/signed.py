"""Signed lookups in both forms of a header. The signature is a text: who checks it is not part of these tests."""

from __future__ import annotations

import json
from collections.abc import Mapping

from interop.harness.wire import JSON, ROCKETMQ, binary_header, frame

KEYS = bytes(range(32))  # two keys of 16 bytes: of JSON and of binary headers
SIGNATURE = "kKm0P8pT3+u4/1c="


def fields(topic: str, signature: str, key: str, more: Mapping[str, str]) -> dict[str, str]:
    return {"Signature": signature, "topic": topic, "AccessKey": key, **more}


def signed(
    topic: str, *, signature: str = SIGNATURE, key: str = "rocketmq2", opaque: int = 7, version: int = 477,
    language: str = "JAVA", more: Mapping[str, str] = {}, body: bytes = b"",
) -> bytes:  # fmt: skip
    """The frame of a lookup with a JSON header."""
    header = {
        "code": 105, "extFields": fields(topic, signature, key, more), "flag": 0, "language": language,
        "opaque": opaque, "serializeTypeCurrentRPC": "JSON", "version": version,
    }  # fmt: skip
    return frame(json.dumps(header, separators=(",", ":")).encode(), body, JSON)


def signed_binary(topic: str, *, opaque: int = 7, body: bytes = b"") -> bytes:
    """The frame of the same lookup with a binary header."""
    header = binary_header(105, fields(topic, SIGNATURE, "rocketmq2", {}), opaque=opaque, version=477)
    return frame(header, body, ROCKETMQ)
