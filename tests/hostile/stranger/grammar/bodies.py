"""Bodies of requests: registrations in all forms, and those of 217, 318 and 322."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable

from interop.harness.payloads import data_version, dumps
from tests.hostile.stranger.grammar.acts import Act, size
from tests.hostile.stranger.grammar.names import name, quoted, short

BYTES_MAX = 15_500_000  # a frame has 16 MiB at most
# What honest peers rely on stays as it is: Java, too, lets any peer switch lookups off.
SETTINGS = ("notifyMinBrokerIdChanged", "supportActingMaster", "deleteTopicWithBrokerRegistration",
            "returnOrderTopicConfigToBroker", "orderMessageEnable")  # fmt: skip
REFUSED = ("rocketns.incomingBytesMax", "journalPath", "configBlackList", "listenPort", "scanNotActiveBrokerInterval",
           "tls.server.mode", "nobody", "")  # fmt: skip
Body = Callable[[Act, random.Random], bytes]


def topic_names(act: Act, chance: random.Random) -> list[bytes]:
    """Names of topics as JSON: one of any length, or many of which each has a part of the bytes."""
    count = max(1, size(chance, act.most))
    first = name(act, chance, "topic")
    beginning = short(first, min(len(first), BYTES_MAX // 2 // count // 8))
    return [quoted(first), *(quoted(f"{beginning}{number}") for number in range(1, count))]


def _table(act: Act, chance: random.Random) -> bytes:
    queues, perm = chance.choice((4, 8, 16, -1, 1 << 31)), chance.choice((6, 6, 4, 2, 0, -1))
    line = b'%%b:{"topicName":%%b,"readQueueNums":%d,"writeQueueNums":8,"perm":%d,"topicSysFlag":%d}' % (
        queues, perm, chance.randrange(4))  # fmt: skip
    if chance.random() < 0.1:
        return b",".join(b"%b:{}" % topic for topic in topic_names(act, chance))
    return b",".join(line % (topic, topic) for topic in topic_names(act, chance))


def _wrapper(act: Act, chance: random.Random) -> bytes:
    mappings = b",".join(_mapping(act, chance) for _ in range(size(chance, min(act.most, 500))))
    version = data_version(chance.randrange(5), chance.choice((0, 1_700_000_000_000, 1 << 62)), chance.randrange(2))
    return b'{"dataVersion":%b,"topicConfigTable":{%b},"topicQueueMappingInfoMap":{%b}}' % (
        dumps(version), _table(act, chance), mappings)  # fmt: skip


def _mapping(act: Act, chance: random.Random) -> bytes:
    topic, broker = quoted(short(name(act, chance, "topic"))), quoted(short(name(act, chance, "broker")))
    ids = b",".join(b'"%d":%d' % (n, n) for n in range(size(chance, 100)))
    return b'%b:{"topic":%b,"bname":%b,"scope":"__global__","currIdMap":{%b}}' % (topic, topic, broker, ids)


def _filters(act: Act, chance: random.Random) -> bytes:
    count = size(chance, min(act.most, 10_100))
    one = quoted(name(act, chance, "filter"))
    return b"[%b]" % b",".join([one] * max(0, min(count, BYTES_MAX // 4 // len(one))))


def plain(act: Act, chance: random.Random) -> bytes:
    return b'{"filterServerList":%b,"topicConfigSerializeWrapper":%b}' % (_filters(act, chance), _wrapper(act, chance))


def old(act: Act, chance: random.Random) -> bytes:
    """Of a broker before 3.0.11."""
    return _wrapper(act, chance)


def lenient(act: Act, chance: random.Random) -> bytes:
    """JSON that only the lenient parser takes."""
    return plain(act, chance)[:60_000].replace(b'"', b"'")


def block(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def deflated(act: Act, chance: random.Random) -> bytes:
    topics = [topic.decode("utf-8", "replace").strip('"') for topic in topic_names(act, chance)]
    lines = [block(f"{topic} 8 8 6 SINGLE_TAG".encode()) for topic in topics]
    parts = [block(dumps(data_version())), struct.pack(">i", len(lines)), *lines, block(_filters(act, chance))]
    mappings = [block(_mapping(act, chance).partition(b":")[2]) for _ in range(size(chance, min(act.most, 500)))]
    more = bytes(size(chance, 31_000_000)) if chance.random() < 0.2 else b""
    return zlib.compress(b"".join([*parts, struct.pack(">i", len(mappings)), *mappings, more]), 1)


def topic_queues(act: Act, chance: random.Random) -> bytes:
    """Of 217."""
    count = size(chance, min(act.most, 10_100))
    beginning = quoted(short(name(act, chance, "broker"), BYTES_MAX // 4 // max(1, count)))[:-1]
    return b'{"queueDatas":[%b]}' % b",".join(
        b'{"brokerName":%b%d","perm":6,"readQueueNums":8,"writeQueueNums":8}' % (beginning, n) for n in range(count)
    )


def settings(act: Act, chance: random.Random) -> bytes:
    """Of 318."""
    value = chance.choice(("true", "true", "false", name(act, chance, "value")))
    known = f"{chance.choice(SETTINGS)}={value}\n" if value in ("true", "false") else ""
    refused = f"{chance.choice(REFUSED)}={name(act, chance, 'value')}\n"
    return chance.choice((known, refused)).encode("utf-8", "replace")[:BYTES_MAX]


def version(_: Act, chance: random.Random) -> bytes:
    """Of 322."""
    return dumps(data_version(chance.randrange(5)))


def noise(act: Act, chance: random.Random) -> bytes:
    return chance.randbytes(size(chance, act.longest))


def damaged(act: Act, chance: random.Random) -> bytes:
    """A body with some changed bytes, or cut."""
    body = bytearray(chance.choice((plain, deflated, old))(act, chance))
    for _ in range(chance.randrange(4)):
        body[chance.randrange(len(body))] = chance.randrange(256)
    return bytes(body[: size(chance, len(body))]) if chance.random() < 0.5 else bytes(body)


REGISTRATIONS: tuple[Body, ...] = (plain, plain, deflated, old, lenient, damaged, noise)
OTHERS: tuple[Body, ...] = (topic_queues, settings, version, noise, plain)
