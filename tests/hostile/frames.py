"""Frames that no peer sends, generated from a seed so that a failure can be replayed."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator

from interop.harness import codes
from interop.harness.payloads import compressed_body, data_version, dumps, register_body, topic_config
from interop.harness.wire import ROCKETMQ, binary_header, frame

CODES = [value for name, value in vars(codes).items() if name.isupper() and value >= codes.PUT_KV_CONFIG]
FIELDS = (
    "brokerName", "brokerAddr", "clusterName", "haServerAddr", "brokerId", "heartbeatTimeoutMillis",
    "enableActingMaster", "compressed", "bodyCrc32", "topic", "namespace", "key", "value", "cluster",
    "acceptStandardJsonOnly", "__ZONE_NAME", "__ZONE_MODE",
)  # fmt: skip
VALUES = ("a", "b", "0", "1", "-1", "true", "", "10.0.0.1:10911", "9" * 25, "\u00fc\u2028", "x" * 300)
VERSIONS = (0, 36, 37, 400, 401, 413, 513, 613, -1)
TOPICS = [topic_config(f"T{n}") for n in range(3)]
BODIES = (
    b"",
    b"a=b\nserverWorkerThreads=7\n",
    register_body(TOPICS),
    compressed_body(TOPICS),
    dumps(data_version()),
    dumps({"queueDatas": [{"brokerName": "a", "perm": 6}]}),
)


def random_frames(seed: int, count: int) -> Iterator[bytes]:
    """Whole frames of every request code with random fields and versions and damaged bodies."""
    chance = random.Random(seed)
    for _ in range(count):
        ext = {field: chance.choice(VALUES) for field in FIELDS if chance.random() < 0.6}
        code, version, opaque = chance.choice(CODES), chance.choice(VERSIONS), chance.randrange(-5, 5)
        body = _body(chance)
        if chance.random() < 0.3:
            yield frame(binary_header(code, ext, opaque=opaque, version=version), body, ROCKETMQ)
        else:
            header = {"code": code, "extFields": ext, "opaque": opaque, "version": version}
            yield frame(json.dumps(header).encode(), body)


def damaged(seed: int, frames: Iterator[bytes]) -> Iterator[bytes]:
    """The frames with a few bytes changed, most of them after the length field."""
    chance = random.Random(seed)
    for data in frames:
        yield _damage(chance, data, first=0 if chance.random() < 0.1 else 8)


def _body(chance: random.Random) -> bytes:
    body = chance.choice(BODIES)
    kind = chance.randrange(4)
    if kind == 0 and body:
        return _damage(chance, body)
    if kind == 1:
        return zlib.compress(_damage(chance, zlib.decompress(BODIES[3])))
    return body


def _damage(chance: random.Random, data: bytes, first: int = 0) -> bytes:
    damaged_data = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        damaged_data[chance.randrange(first, len(data))] = chance.randrange(256)
    return bytes(damaged_data)
