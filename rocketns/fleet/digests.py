"""Digests of routes: 64-bit numbers that are equal where two routes have the same queues, in whatever order.

The digest of a topic is the sum, modulo 2^64, of the hashes of its elements of queueDatas. A hash is the first 8 bytes
of BLAKE2b of the element's JSON as a name server writes it. Broker groups are no part of it: they are compared on
their own, or one broker's new address would make all its topics differ.

A digest finds accidental differences. It does not resist a peer that searches for two routes with the same digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from typing import Any

import orjson

from rocketns.errors import BodyDecodeError
from rocketns.protocol.body.bodies import queue_data as queue_data_json
from rocketns.protocol.body.decoding import queue_data_from_json
from rocketns.protocol.bounds import Allowance
from rocketns.protocol.json import fastjson

DIGEST_BYTES = 8
MASK = (1 << 8 * DIGEST_BYTES) - 1
# More than the elements of a fleet: brokers times the shapes that their topics have.
HASHES_CACHED_MAX = 65_536
CACHED_CHARACTERS_MAX = 255  # of a broker's name; the hashes of longer ones are computed each time

_NUMBERS = ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag")
_parts = itemgetter("brokerName", *_NUMBERS)


def hash_of(data: bytes) -> int:
    """The hash of an element's JSON."""
    return int.from_bytes(blake2b(data, digest_size=DIGEST_BYTES).digest(), "little")


def read_route(body: bytes, values_max: int) -> dict[str, Any]:
    """The members of a route's JSON. BodyDecodeError where it is none, or has more values than ``values_max``."""
    route = fastjson.as_object(fastjson.loads(body, allowance=Allowance(values_max)))
    if route is None:
        raise BodyDecodeError("a route is null")
    return route


def queues_digest(route: Mapping[str, Any]) -> int:
    """The digest of a route as another name server answered it. BodyDecodeError where its queueDatas are none."""
    elements = route.get("queueDatas", [])
    if not isinstance(elements, list):
        raise BodyDecodeError("queueDatas is no list")
    try:
        return sum(map(_hash_of_parts, map(_parts, elements))) & MASK
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BodyDecodeError(f"an element of queueDatas is none: {error}") from error


def _hash_of_parts(parts: tuple[Any, ...]) -> int:
    name, read, write, perm, flag = parts
    if not isinstance(name, str):
        raise BodyDecodeError("a broker of a route has no name")
    if len(name) <= CACHED_CHARACTERS_MAX and type(read) is type(write) is type(perm) is type(flag) is int:
        return _cached_hash(parts)
    hash(parts)  # a list or an object is no number
    return _hash(parts)


def _hash(parts: tuple[Any, ...]) -> int:
    name, *numbers = parts
    return hash_of(queue_data_json(name, queue_data_from_json(dict(zip(_NUMBERS, numbers, strict=True)))))


_cached_hash = lru_cache(maxsize=HASHES_CACHED_MAX)(_hash)


def extras_digest(route: Mapping[str, Any]) -> int:
    """A digest of filter servers, static queues and order configuration, which few routes have. 0 without them."""
    filters = {addr: servers for addr, servers in (route.get("filterServerTable") or {}).items() if servers}
    extras = (filters, route.get("topicQueueMappingByBroker") or {}, route.get("orderTopicConf"))
    return hash_of(canonical_json(extras)) if any(extras) else 0


def canonical_json(value: Any) -> bytes:
    """JSON with sorted keys."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise BodyDecodeError(str(error)) from error
