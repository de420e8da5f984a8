"""Frames: requests of every code and of none, with headers of both forms."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from tests.hostile.frames import CODES
from tests.hostile.stranger.grammar import bodies
from tests.hostile.stranger.grammar.acts import Act, size
from tests.hostile.stranger.grammar.names import name

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
        draw: bodies.Body = chance.choice(act.some("registrations", bodies.REGISTRATIONS))
    else:
        special = {codes.REGISTER_TOPIC_IN_NAMESRV: bodies.topic_queues, codes.UPDATE_NAMESRV_CONFIG: bodies.settings,
                   codes.QUERY_DATA_VERSION: bodies.version}  # fmt: skip
        if code not in special and chance.random() < 0.7:
            return b""
        draw = special.get(code) or chance.choice(bodies.OTHERS)
    return draw(act, chance)[: bodies.BYTES_MAX]


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
    body = draw(act, chance)[: bodies.BYTES_MAX]
    header = {"code": chance.choice((0, 0, 0, 1, 17, code)), "flag": chance.choice((1, 1, 1, 0, 3)), "opaque": opaque,
              "version": 513, "extFields": {"topics": str(size(chance, 1 << 40))}}  # fmt: skip
    return frame(json.dumps(header).encode(), body)


def _groups(act: Act, chance: random.Random) -> bytes:
    count = size(chance, min(act.most, 20_000))
    one = json.dumps({"cluster": "c", "brokerName": "b", "brokerAddrs": {"0": name(act, chance, "address")[:70_000]}})
    count = min(count, bodies.BYTES_MAX // 2 // len(one))
    return b'{"brokerAddrTable":{%b},"clusterAddrTable":{}}' % b",".join(
        b'"g%d":%b' % (number, one.encode("utf-8", "replace")) for number in range(count)
    )


def _topic_list(act: Act, chance: random.Random) -> bytes:
    return b'{"topicList":[%b]}' % b",".join(bodies.topic_names(act, chance))


def _route(act: Act, chance: random.Random) -> bytes:
    return bodies.topic_queues(act, chance)[:-1] + b',"brokerDatas":[],"filterServerTable":{}}'


def _digests(_: Act, chance: random.Random) -> bytes:
    return chance.randbytes(2_048)


ANSWERS = (_groups, _topic_list, _route, _digests, bodies.noise)
