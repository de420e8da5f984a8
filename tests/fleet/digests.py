"""The digest of a topic by its definition, beside the ways by which the product computes it."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from rocketns.protocol.body.bodies import queue_data

Queues = tuple[int, int, int, int]  # readQueueNums, writeQueueNums, perm, topicSysFlag


def digest_of(queues: Iterable[tuple[str, Queues]]) -> int:
    """The sum, modulo 2^64, of the first 8 bytes of BLAKE2b of each element of queueDatas."""
    hashes = (blake2b(queue_data(broker, numbers), digest_size=8).digest() for broker, numbers in queues)
    return sum(int.from_bytes(one, "little") for one in hashes) % 2**64
