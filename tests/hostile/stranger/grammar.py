"""What strangers send, drawn by chance: sizes, names, bodies, frames, requests of HTTP, answers."""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_body, register_ext, topic_config
from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from tests.hostile.test_garbage import CODES

STEPS = 12  # of an act
# One of these is the longest size of an act's texts, in bytes, and its largest count.
LONGEST = (40, 300, 4_096, 70_000, 1_000_000, 6_000_000)
MOST = (3, 40, 1_000, 100_000)
BOUNDARIES = (0, 1, 127, 128, 255, 256, 4_095, 4_096, 4_097, 32_767, 32_768, 65_535, 65_536, 1 << 20)
NAMES, COUNTS, CONNECTIONS, REPEATS = "names", "counts", "connections", "repeats"
UNFINISHED, UNREAD, HELD = "unfinished", "unread", "held"
DIMENSIONS = (NAMES, COUNTS, CONNECTIONS, REPEATS, UNFINISHED, UNREAD, HELD)
Choice = TypeVar("Choice")


@dataclass(frozen=True)
class Act:
    """``some(what, choices)`` are the choices that the act leaves. ``longest`` in bytes; ``most`` is a count."""

    seed: int
    number: int
    longest: int
    most: int
    pushed: frozenset[str] = frozenset()

    def some(self, what: str, choices: Sequence[Choice]) -> list[Choice]:
        """At least one of the choices, mostly few; the same for all steps of the act."""
        chance = random.Random(f"{self.seed} {self.number} {what}")
        return chance.sample(choices, min(len(choices), chance.choice((1, 1, 2, 3, 5, len(choices)))))

    def name(self, what: str, number: int) -> random.Random:
        """The chance that draws a name, so that steps of the act use the same names."""
        return random.Random(f"{self.seed} {self.number} {what} {number}")


def act_of(seed: int, step: int) -> Act:
    number = step // STEPS
    chance = random.Random(f"{seed} act {number}")
    pushed = frozenset(chance.sample(DIMENSIONS, chance.choice((0, 1, 2, 3, 3, 4))))
    longest = LONGEST[-1] if NAMES in pushed else chance.choice(LONGEST)
    return Act(seed, number, longest, MOST[-1] if COUNTS in pushed else chance.choice(MOST), pushed)


def size(chance: random.Random, most: int) -> int:
    """0 to ``most``: all orders of magnitude alike, and often a boundary or the most."""
    kind = chance.random()
    if kind < 0.2:
        return most
    if kind < 0.35:
        return chance.choice([one for one in BOUNDARIES if one <= most])
    return int(most ** chance.random())


# Honest names begin so; a stranger's may, too, but then go on differently.
HONEST = "honest"
SYSTEM = ("SELF_TEST_TOPIC", "TBW102", "%RETRY%g", "%DLQ%g", "OFFSET_MOVED_EVENT", "RMQ_SYS_TRACE_TOPIC", "__ZONE_NAME")
ODD = ("", " ", "null", "true", "-1", "9" * 25, "1e999", "../../etc/passwd", "a=b", "a b 1 1 6", "[]", "{}", "#topic=%",
       "%", "<script>alert(1)</script>", "__proto__", "${jndi:ldap://127.0.0.1}")  # fmt: skip

POOL = 12  # names of one kind in an act
SHORT = 40
Draw = Callable[[random.Random, int], str]


def _repeated(piece: str) -> Draw:
    return lambda _, length: piece * (length // max(1, len(piece.encode()))) or piece


def _equal_but_last(chance: random.Random, length: int) -> str:
    return "e" * max(0, length - 1) + chance.choice("0123456789")


def _mixed(chance: random.Random, length: int) -> str:
    return "".join(chance.choice('ab\0\n\x1b\u2028\u202e\u05d0\U0001f600"\\ü') for _ in range(min(length, 2_000)))


KINDS: tuple[Draw, ...] = (
    lambda chance, _: f"s{chance.randrange(1_000)}",
    lambda chance, _: chance.choice(SYSTEM),
    lambda chance, _: chance.choice(ODD),
    lambda chance, _: HONEST + chance.choice(("\0", "~", "-", "\u200b", "\n", " ")),
    _repeated("n"), _repeated("\x01"), _repeated("\n"), _repeated('"\\'), _repeated("\u202eא"), _repeated("\U0001f600"),
    _repeated("\u2028"), _equal_but_last, _mixed,
)  # fmt: skip


def name(act: Act, chance: random.Random, what: str) -> str:
    """One of the act's names for brokers, topics or whatever else, of at most about ``act.longest`` bytes."""
    own = act.name(what, chance.randrange(POOL))
    return own.choice(act.some(f"names of {what}", KINDS))(own, size(own, act.longest))


def quoted(text: str) -> bytes:
    """As JSON."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")


def short(text: str, length: int = SHORT) -> str:
    """Its beginning: for names of which there are many."""
    return text[:length]


BODY_MAX = 15_500_000  # a frame has 16 MiB at most
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
    beginning = short(first, min(len(first), BODY_MAX // 2 // count // 8))
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
    return b"[%b]" % b",".join([one] * max(0, min(count, BODY_MAX // 4 // len(one))))


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
    beginning = quoted(short(name(act, chance, "broker"), BODY_MAX // 4 // max(1, count)))[:-1]
    return b'{"queueDatas":[%b]}' % b",".join(
        b'{"brokerName":%b%d","perm":6,"readQueueNums":8,"writeQueueNums":8}' % (beginning, n) for n in range(count)
    )


def settings(act: Act, chance: random.Random) -> bytes:
    """Of 318."""
    value = chance.choice(("true", "true", "false", name(act, chance, "value")))
    known = f"{chance.choice(SETTINGS)}={value}\n" if value in ("true", "false") else ""
    refused = f"{chance.choice(REFUSED)}={name(act, chance, 'value')}\n"
    return chance.choice((known, refused)).encode("utf-8", "replace")[:BODY_MAX]


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


REGISTER = codes.REGISTER_BROKER
UNKNOWN = (0, 1, 310, 905, 9999, -1, 32_767, 1 << 31)
VERSIONS = (513, 513, 513, 413, 401, 36, 0, -1, 1 << 31)
FLAGS = (0, 0, 0, 0, 1, 2, 3, 1 << 30)
TIMEOUTS = ("1", "2000", "120000", "-1", str((1 << 63) - 1), "x")
# Fields whose values are names, besides those of brokers.
NAMED = ("topic", "namespace", "key", "value", "cluster", "__ZONE_NAME", "haServerAddr")
SWITCHES = {"enableActingMaster": ("true", "false"), "compressed": ("true", "false"), "bucket": ("0", "255", "256"),
            "acceptStandardJsonOnly": ("true", "false"), "__ZONE_MODE": ("true",), "order": ("true",),
            "signature": ("x",)}  # fmt: skip

HEADER_BYTES_MAX = 15_000_000


@dataclass(frozen=True)
class Frame:
    """``kind`` says what it is in the report."""

    kind: str
    data: bytes


def request(act: Act, chance: random.Random, addresses: tuple[str, ...] = ()) -> Frame:
    """One frame. Brokers in it may have one of ``addresses``, at which strangers listen."""
    code = _code(act, chance)
    body = _body(act, chance, code)
    fields = _fields(act, chance, body, addresses)
    return Frame(str(code) if code in CODES else "unknown code", _frame(act, chance, code, fields, body))


def group(act: Act, chance: random.Random, addresses: tuple[str, ...]) -> tuple[Frame, ...]:
    """Brokers of one group with smaller and smaller ids, so that the server connects to those before (905)."""
    broker, cluster = name(act, chance, "broker"), name(act, chance, "cluster")
    body = register_body([topic_config("T"), topic_config("U")])
    members = chance.sample(addresses, min(len(addresses), max(2, size(chance, 8))))
    acting, timeout = chance.choice(SWITCHES["enableActingMaster"]), chance.choice(TIMEOUTS[:3])
    fields = [register_ext(cluster, broker, address, broker_id, body, enableActingMaster=acting,
                           heartbeatTimeoutMillis=timeout)
              for broker_id, address in reversed(list(enumerate(members)))]  # fmt: skip
    return tuple(Frame("group", frame(json_header(REGISTER, one), body)) for one in fields)


def _code(act: Act, chance: random.Random) -> int:
    drawn: list[int] = act.some("codes", [*CODES, *UNKNOWN])
    return REGISTER if chance.random() < 0.4 else chance.choice(drawn)


def _body(act: Act, chance: random.Random, code: int) -> bytes:
    if code == REGISTER:
        draw: Body = chance.choice(act.some("registrations", REGISTRATIONS))
    else:
        special = {codes.REGISTER_TOPIC_IN_NAMESRV: topic_queues, codes.UPDATE_NAMESRV_CONFIG: settings,
                   codes.QUERY_DATA_VERSION: version}  # fmt: skip
        if code not in special and chance.random() < 0.7:
            return b""
        draw = special.get(code) or chance.choice(OTHERS)
    return draw(act, chance)[:BODY_MAX]


def _fields(act: Act, chance: random.Random, body: bytes, addresses: tuple[str, ...]) -> dict[str, str]:
    address = chance.choice(addresses) if addresses and chance.random() < 0.5 else name(act, chance, "address")
    fields = {
        "brokerName": name(act, chance, "broker"), "brokerAddr": address, "clusterName": name(act, chance, "cluster"),
        "brokerId": chance.choice(("0", "0", "1", "2", str(chance.randrange(1 << 63)))), "haServerAddr": address,
        "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF),
    }  # fmt: skip
    if chance.random() < 0.3:
        fields["heartbeatTimeoutMillis"] = chance.choice(TIMEOUTS)
    fields |= {field: name(act, chance, field) for field in act.some("fields", NAMED) if chance.random() < 0.8}
    fields |= {field: chance.choice(SWITCHES[field]) for field in SWITCHES if chance.random() < 0.15}
    for _ in range(size(chance, act.most) if chance.random() < 0.05 else 0):
        fields[f"k{len(fields)}"] = "v"
    return fields


def _frame(act: Act, chance: random.Random, code: int, fields: dict[str, str], body: bytes) -> bytes:
    version, opaque = chance.choice(VERSIONS), chance.choice((1, chance.randrange(-(1 << 31), 1 << 31)))
    flag = chance.choice(FLAGS)
    if -32_768 <= code <= 32_767 and version < 32_768 and chance.random() < 0.3:
        data = binary_header(code, fields, version=version, opaque=opaque, flag=flag, remark=_remark(act, chance))
        return frame(data[:HEADER_BYTES_MAX], body[: HEADER_BYTES_MAX - len(data)], ROCKETMQ)
    header = {"code": code, "extFields": fields, "flag": flag, "opaque": opaque, "version": version}
    header |= {"language": "JAVA"} if chance.random() < 0.5 else {"language": name(act, chance, "language")}
    header |= {"remark": name(act, chance, "remark"), "nobody": [1, {"a": 2}]} if chance.random() < 0.1 else {}
    data = json.dumps(header, ensure_ascii=chance.random() < 0.5).encode("utf-8", "replace")
    return frame(data[:HEADER_BYTES_MAX], body[: max(0, HEADER_BYTES_MAX - len(data))])


def _remark(act: Act, chance: random.Random) -> bytes:
    return name(act, chance, "remark").encode("utf-8", "replace") if chance.random() < 0.1 else b""


def answer(act: Act, chance: random.Random, code: int, opaque: int) -> bytes:
    """An answer to a request that the server sent: of a name server, or something else."""
    draw: Callable[[Act, random.Random], bytes] = chance.choice(act.some("answers", ANSWERS))
    body = draw(act, chance)[:BODY_MAX]
    header = {"code": chance.choice((0, 0, 0, 1, 17, code)), "flag": chance.choice((1, 1, 1, 0, 3)), "opaque": opaque,
              "version": 513, "extFields": {"topics": str(size(chance, 1 << 40))}}  # fmt: skip
    return frame(json.dumps(header).encode(), body)


def _groups(act: Act, chance: random.Random) -> bytes:
    count = size(chance, min(act.most, 20_000))
    one = json.dumps({"cluster": "c", "brokerName": "b", "brokerAddrs": {"0": name(act, chance, "address")[:70_000]}})
    count = min(count, BODY_MAX // 2 // len(one))
    return b'{"brokerAddrTable":{%b},"clusterAddrTable":{}}' % b",".join(
        b'"g%d":%b' % (number, one.encode("utf-8", "replace")) for number in range(count)
    )


def _topic_list(act: Act, chance: random.Random) -> bytes:
    return b'{"topicList":[%b]}' % b",".join(topic_names(act, chance))


def _route(act: Act, chance: random.Random) -> bytes:
    return topic_queues(act, chance)[:-1] + b',"brokerDatas":[],"filterServerTable":{}}'


def _digests(_: Act, chance: random.Random) -> bytes:
    return chance.randbytes(2_048)


ANSWERS = (_groups, _topic_list, _route, _digests, noise)


API = "/api/v1/"
LISTS = ("brokers", "topics", "clusters", "connections", "kv", "config", "limits", "events", "nameservers",
         "disagreements", "status", "route?topic=SELF_TEST_TOPIC", "openapi.json", "nobody")  # fmt: skip

MANAGEMENT = ("/", "/livez", "/readyz", "/metrics", API + "stream", "/nobody", *(API + one for one in LISTS))
ADDRESS = ("/rocketmq/nsaddr", "/rocketmq/nsaddr-unit?nofix=1", "/", "/rocketmq/", "/nobody")
METHODS = ("GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get", "X" * 300)
HTTP_BODY_MAX = 4_000_000


def management(act: Act, chance: random.Random) -> Frame:
    return _request(act, chance, MANAGEMENT)


def address(act: Act, chance: random.Random) -> Frame:
    return _request(act, chance, ADDRESS)


def _request(act: Act, chance: random.Random, paths: tuple[str, ...]) -> Frame:
    path, method = chance.choice(act.some("paths", paths)), chance.choice(act.some("methods", METHODS))
    if chance.random() < 0.05:
        return Frame("noise", chance.randbytes(size(chance, min(act.longest, HTTP_BODY_MAX))))
    target = path + (_query(act, chance) if path.startswith(API) and "?" not in path and chance.random() < 0.5 else "")
    lines = [f"{method} {target} HTTP/1.{chance.choice('111110')}", f"Host: {_host(act, chance)}"]
    body = bytes(size(chance, HTTP_BODY_MAX)) if chance.random() < 0.4 else b""
    lines += _about_body(chance, body) + _odd_headers(act, chance)
    head = "\r\n".join(lines).encode("latin-1", "replace")
    more = body if chance.random() < 0.8 else body[: len(body) // 2]
    return Frame(path, head + b"\r\n\r\n" + more)


def _host(act: Act, chance: random.Random) -> str:
    return "localhost" if chance.random() < 0.8 else quote(name(act, chance, "host")[:10_000])


def _query(act: Act, chance: random.Random) -> str:
    words = ("limit", "offset", "sort", "search", "cluster", "broker", "topic", "state", "event", "kind", "nobody")
    drawn = chance.sample(words, chance.randrange(1, 4))
    values = ("500", "501", "-1", "0", "live", "-name", quote(name(act, chance, "query")[:3_000]))
    return "?" + "&".join(f"{word}={chance.choice(values)}" for word in drawn)


def _about_body(chance: random.Random, body: bytes) -> list[str]:
    stated = chance.choice((len(body), len(body), len(body), 0, len(body) + 1, 1 << 40, -1))
    if not body and chance.random() < 0.8:
        return []
    return chance.choice((
        [f"Content-Length: {stated}"], [f"Content-Length: {stated}"], ["Transfer-Encoding: chunked"], [],
        [f"Content-Length: {stated}", "Expect: 100-continue"], [f"Content-Length: {stated}", "Content-Length: 3"],
    ))  # fmt: skip


def _odd_headers(act: Act, chance: random.Random) -> list[str]:
    odd = (
        ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: eA==", "Sec-WebSocket-Version: 13"],
        ["Connection: Upgrade", "Upgrade: h2c"],
        ["Connection: close"],
        ["Accept-Encoding: gzip"],
        ["Origin: http://localhost"],
        ["Last-Event-ID: " + "9" * 30],
        ["Cookie: " + "c" * size(chance, min(act.longest, 100_000))],
        [f"X-{number}: v" for number in range(size(chance, min(act.most, 1_000)))],
    )
    return chance.choice(act.some("headers", odd)) if chance.random() < 0.5 else []
