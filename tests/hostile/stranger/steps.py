"""One step of a stranger, drawn from a seed: at which port, what is sent, how often, on how many connections.

The steps of one act share names, sizes and ports. Requests are those of `tests.support.histories`, of peers whose names
are odd or long and whose bodies have many entries; whole, damaged, cut, or never ending.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import quote

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import frame, json_header
from tests.support.histories import (
    PUT_TOPIC,
    REGISTER,
    REQUESTS,
    Ask,
    Peers,
    damaged,
    dumps,
    odd,
    size,
    steps_of,
    switch,
)
from tests.support.proxyheaders import LOCAL, PROXY, TCP4, addresses4, tlv, v1, v2
from tests.support.tlsclient import TlsPeer

MB = 1 << 20
STEPS_IN_ACT = 12
# Of an act's texts, in bytes, and of entries in a body.
LONGEST = (40, 300, 4_096, 70_000, 3_000_000)
MOST = (3, 40, 1_000, 50_000)
BYTES_MAX = 64 * MB  # sent by one step
FRAME_MAX = 15 * MB
HOLD_S_MAX = 20.0
PLAIN, BROKERS, TLS, HELLO, PROXIED = "plain", "brokers", "tls", "hello", "proxied"
MANAGEMENT, ADDRESS = "management", "address server"
DOORS = (PLAIN, PLAIN, BROKERS, TLS, HELLO, PROXIED, MANAGEMENT, ADDRESS)
# Honest names begin so; a stranger's may, too, but then go on differently.
HONEST = "honest"
NAMES = (
    *("SELF_TEST_TOPIC", "TBW102", "%RETRY%g", "%DLQ%g", "RMQ_SYS_TRACE_TOPIC", "__ZONE_NAME", "s1", "s2", "s3"),
    *("", " ", "null", "-1", "9" * 25, "1e999", "../../etc/passwd", "a=b", "a b 1 1 6", "[]", "{}", "#topic=%"),
    *("<script>alert(1)</script>", "__proto__", "${jndi:ldap://127.0.0.1}", HONEST + "\0", HONEST + "~"),
)  # fmt: skip
PIECES = ("n", "\x01", "\n", '"\\', "\u202e\u05d0", "\U0001f600", "\u2028", 'ab\0\n\x1b\u05d0"')
OF_NOBODY = ("127.0.0.15:1", "127.0.0.15:2")
# What honest peers rely on stays as it is: Java, too, lets any peer switch lookups off.
SWITCHES = ("notifyMinBrokerIdChanged", "supportActingMaster", "deleteTopicWithBrokerRegistration", "listenPort",
            "returnOrderTopicConfigToBroker", "rocketns.incomingBytesMax", "journalPath")  # fmt: skip
KINDS = {**REQUESTS, odd: 20, switch: 4}


@dataclass(frozen=True)
class Act:
    """What the steps of an act have in common."""

    peers: Peers
    longest: int
    doors: list[str]
    connections: int
    repeats: int
    shares: tuple[float, ...]
    reads: tuple[bool, ...]
    hold_s: float


def act_of(seed: int, number: int, addresses: tuple[str, ...] = ()) -> Act:
    """That of the step with this number. ``addresses`` are those at which strangers listen as brokers."""
    chance = random.Random(f"{seed} act {number // STEPS_IN_ACT}")
    longest, most = chance.choice(LONGEST), chance.choice(MOST)

    def names(count: int) -> list[str]:
        return [_name(chance, longest) for _ in range(count)]

    clusters, groups = names(3), names(6)
    listening = chance.sample(addresses, min(8, len(addresses))) if addresses else list(OF_NOBODY)
    homes = {one: (chance.choice(clusters), chance.choice(groups), None) for one in (*listening, *names(2))}
    filters = ((), (_name(chance, longest),), ("f:1",) * min(most, 10_100))
    peers = Peers(
        homes, clusters, groups, names(12), ids=("0", "1", "2", str(chance.randrange(1 << 63))),
        queues=(4, 8, 16, -1, 1 << 31), timeouts=(None, "1", "2000", "120000", "-1", str((1 << 63) - 1), "x"),
        zones=(None, *names(1)), filters=filters, namespaces=names(2), keys=names(4), switches=SWITCHES,
        forms=((False, 513), (True, 513), (False, -1), (False, 1 << 31), (True, 401), (True, 36), (False, 0)),
        strays=0.3, odd=0.5, crowds=0.3, most=most,
    )  # fmt: skip
    return Act(
        peers, longest, chance.sample(DOORS, chance.choice((1, 2, 3, len(DOORS)))), chance.choice((1, 8, 64, 400)),
        chance.choice((1, 1, 3, 100, 3_000)), chance.choice(((1.0,), (1.0, 0.99), (chance.random(),))),
        chance.choice(((True,), (True, False), (False,))), chance.choice((0.0, 0.05, 1.0, 5.0, HOLD_S_MAX)),
    )  # fmt: skip


def _name(chance: random.Random, longest: int) -> str:
    if chance.random() < 0.5:
        return chance.choice(NAMES)
    piece = chance.choice(PIECES)
    return piece * (size(chance, longest) // len(piece.encode())) + chance.choice("0123456789")


@dataclass(frozen=True)
class Step:
    """``before`` precedes the frames of each connection. ``share`` is the part of the bytes that is sent, in ``parts``.

    All frames are sent ``repeats`` times on each of ``connections``, which stay for ``hold_s`` and end as ``end`` says.
    """

    number: int
    door: str
    frames: tuple[bytes, ...]
    before: bytes = b""
    connections: int = 1
    repeats: int = 1
    share: float = 1.0
    parts: int = 1
    reads: bool = True
    end: str = "close"
    hold_s: float = 0.0

    def __str__(self) -> str:
        sizes = "+".join(str(len(data)) for data in self.frames)
        return (f"step {self.number}: {self.door}; {sizes} bytes x {self.repeats} x {self.connections} connections, "
                f"{self.share:.0%} in {self.parts} parts, {'read' if self.reads else 'unread'}, {self.end} after "
                f"{self.hold_s:.1f} s; {self.frames[0][:200]!r}")  # fmt: skip


def step_of(seed: int, number: int, addresses: tuple[str, ...] = ()) -> Step:
    """The step with this number, from the last step of the opening on."""
    if number < len(OPENING):
        return OPENING[number]
    act, chance = act_of(seed, number, addresses), random.Random(f"{seed} step {number}")
    door = chance.choice(act.doors)
    if door == BROKERS:
        return Step(number, door, _group(act, chance, addresses or OF_NOBODY), hold_s=act.hold_s)
    write = _http if door in (MANAGEMENT, ADDRESS) else request
    frames = tuple(write(act, chance, door)[:FRAME_MAX] for _ in range(chance.randrange(1, 5)))
    sent = max(1, sum(map(len, frames)))
    connections = min(max(1, size(chance, act.connections)), max(1, BYTES_MAX // sent))
    repeats = min(max(1, size(chance, act.repeats)), max(1, BYTES_MAX // sent // connections))
    return Step(
        number, door, frames, _before(door, act, chance), connections, repeats, chance.choice(act.shares),
        chance.choice((1, 1, 1, 3, 50)), chance.choice(act.reads),
        chance.choice(("close", "close", "half-close", "reset")), act.hold_s,
    )  # fmt: skip


def request(act: Act, chance: random.Random, _door: str = PLAIN) -> bytes:
    """One frame, in some cases damaged."""
    asked = next(one for one in steps_of(str(chance.random()), 0, act.peers, KINDS) if isinstance(one, Ask))
    if chance.random() < 0.03:
        asked = replace(asked, ext={**(asked.ext or {}), **{f"k{n}": "v" for n in range(size(chance, act.peers.most))}})
    if chance.random() < 0.05:
        ext, zeros = {**(asked.ext or {}), "compressed": "true"}, bytes(size(chance, 31 * MB))
        asked = replace(asked, code=REGISTER, ext=ext, body=zeros, deflated=True)
    data = asked.frame(chance.randrange(1 << 31), flag=chance.choice((0, 0, 0, 0, 1, 2, 3, 1 << 30)))
    kind = chance.random()
    if kind < 0.1:
        return damaged(chance, data, first=chance.choice((0, 8, 8)))
    return chance.randbytes(size(chance, act.longest)) if kind < 0.13 else data


def _group(act: Act, chance: random.Random, addresses: tuple[str, ...]) -> tuple[bytes, ...]:
    """Brokers of one group with smaller and smaller ids, so that the server connects to those before (905)."""
    members = list(enumerate(chance.sample(addresses, min(len(addresses), max(2, size(chance, 8))))))
    cluster, broker = chance.choice(act.peers.clusters), chance.choice(act.peers.names)
    return tuple(_registration(register_body([topic_config("T"), topic_config("U")]), broker, cluster, addr, broker_id)
                 for broker_id, addr in reversed(members))  # fmt: skip


def answer(act: Act, chance: random.Random, code: int, opaque: int) -> bytes:
    """An answer to a request that the server sent: of a name server, or something else."""
    peers = act.peers
    groups = {f"g{n}": {"cluster": "c", "brokerName": f"g{n}", "brokerAddrs": {"0": next(iter(peers.homes))[:999]}}
              for n in range(size(chance, min(peers.most, 5_000)))}  # fmt: skip
    bodies: tuple[Callable[[], bytes], ...] = (
        lambda: dumps({"brokerAddrTable": groups, "clusterAddrTable": {"c": list(groups)}}),
        lambda: dumps({"topicList": [*peers.topics, *(f"t{n}" for n in range(size(chance, peers.most)))]}),
        lambda: chance.randbytes(2_048),
        lambda: request(act, chance)[8:],
    )  # fmt: skip
    header = {"code": chance.choice((0, 0, 0, 1, 17, code)), "flag": chance.choice((1, 1, 1, 0, 3)), "opaque": opaque,
              "version": 513, "extFields": {"topics": str(size(chance, 1 << 40))}}  # fmt: skip
    return frame(json.dumps(header).encode(), chance.choice(bodies)()[:FRAME_MAX])


API = "/api/v1/"
LISTS = ("brokers", "topics", "clusters", "connections", "kv", "config", "limits", "events", "nameservers", "nobody",
         "disagreements", "status", "route?topic=SELF_TEST_TOPIC", "openapi.json")  # fmt: skip
PATHS = {
    MANAGEMENT: ("/", "/livez", "/readyz", "/metrics", API + "stream", "/nobody", *(API + one for one in LISTS)),
    ADDRESS: ("/rocketmq/nsaddr", "/rocketmq/nsaddr-unit?nofix=1", "/", "/rocketmq/", "/nobody"),
}
METHODS = ("GET", "GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get", "X" * 300)


def _http(act: Act, chance: random.Random, door: str) -> bytes:
    """A request of HTTP, with odd queries, headers and lengths."""
    path, text = chance.choice(PATHS[door]), quote(_name(chance, min(act.longest, 10_000)))
    words = ("limit=501", "offset=-1", "sort=-name", f"search={text}", f"topic={text}", "state=live", "nobody=0")
    if path.startswith(API) and "?" not in path and chance.random() < 0.5:
        path += "?" + "&".join(chance.sample(words, chance.randrange(1, 4)))
    body = bytes(size(chance, 4_000_000)) if chance.random() < 0.4 else b""
    stated = chance.choice((len(body), len(body), len(body), 0, len(body) + 1, 1 << 40, -1))
    headers = chance.choice((
        [], [], ["Connection: close"], ["Accept-Encoding: gzip"], ["Connection: Upgrade", "Upgrade: h2c"],
        ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: eA==", "Sec-WebSocket-Version: 13"],
        ["Transfer-Encoding: chunked"], ["Expect: 100-continue"], ["Last-Event-ID: " + "9" * 30], [f"Host: {text}"],
        [f"X-{number}: v" for number in range(size(chance, min(act.peers.most, 1_000)))], [f"Cookie: {text * 10}"],
    ))  # fmt: skip
    lengths = [f"Content-Length: {stated}"] * chance.choice((1, 1, 1, 0, 2)) if body else []
    lines = [f"{chance.choice(METHODS)} {path} HTTP/1.{chance.choice('111110')}", "Host: localhost", *lengths, *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


def _before(door: str, act: Act, chance: random.Random) -> bytes:
    if door == HELLO:  # a handshake begins, and what follows is no TLS
        return TlsPeer().shake_hands()
    if door != PROXIED:
        return b""
    source = f"10.{chance.randrange(4)}.{chance.randrange(4)}.{chance.randrange(250)}"
    more = tlv(chance.randrange(256), b"x" * chance.randrange(9)) * size(chance, min(act.peers.most, 16_000))
    version1 = v1("TCP4", source, "127.0.0.1", chance.randrange(70_000), 9_876)
    version2 = v2(TCP4, (addresses4(source, 1) + more)[:65_535], command=chance.choice((PROXY, PROXY, LOCAL)))
    header = chance.choice((version1, version2, version2))
    return header if chance.random() < 0.9 else header[: chance.randrange(len(header))] + b"\0"


def _registration(body: bytes, name: str, cluster: str = "Hostile", addr: str = "10.9.9.9:1", number: int = 0) -> bytes:
    ext = register_ext(cluster, name, addr, number, body, heartbeatTimeoutMillis=2_000)
    return frame(json_header(REGISTER, ext), body)


HOLD_S = 3.0
NEVER_ENDING = struct.pack(">i", 15 * MB) + bytes(2 * MB)
# 4 MB in each answer to 206, which nobody takes.
WIDE = _registration(register_body([topic_config(f"{n}" + "w" * 3_900) for n in range(1_000)]), "opening")
LISTING = frame(json_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)) * 8
PADDED = register_body([topic_config(f"T{n}") | {"attributes": {"+a": "x" * 2_000}} for n in range(500)])
# Every seed begins with what is close to each total.
OPENING: tuple[Step, ...] = (
    Step(0, PLAIN, (WIDE,), hold_s=3 * HOLD_S),
    Step(1, PLAIN, (LISTING,), connections=96, reads=False, hold_s=HOLD_S),
    Step(2, PLAIN, (NEVER_ENDING,), connections=64, reads=False, hold_s=HOLD_S),
    Step(3, TLS, (NEVER_ENDING,), connections=48, reads=False, hold_s=HOLD_S),
    Step(4, PLAIN, tuple(_registration(b"{}", f"{number}" + "l" * 3 * MB) for number in range(8)), hold_s=HOLD_S),
    Step(5, PLAIN, (_registration(PADDED, "padded"),), connections=96, repeats=2, reads=False, hold_s=HOLD_S),
    Step(6, PLAIN, tuple(frame(json_header(codes.PUT_KV_CONFIG, {"namespace": "o", "key": str(n), "value": "v" * MB}))
                         for n in range(8))),
    Step(7, PLAIN, (frame(json_header(PUT_TOPIC, {"topic": "t" * 3 * MB}), dumps({"queueDatas": []})),)),
)  # fmt: skip
