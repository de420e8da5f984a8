"""The parts of an answer that are not compared, and why. Everything else is compared as bytes.

Hash order    Java lists these in the order of its hash maps: brokers and clusters of 106, addresses of 106 and 901,
              topics of 206, 224, 304, 311-313, key-value pairs of 219 and 103, broker and queue data of 105, and for
              peers before 4.9.4 (or with a zone) the maps in 105, which are sorted for all others and so compared.
One of many   The broker address of 304 is the first of the first group, both in hash order. `state` looks whether
              it is one that 106 shows.
Exceptions    A remark that is a Java exception holds a stack frame. That there is one is compared, and for a body that
              cannot be decoded the class of the failure.
The clock     A data version that a registration did not bring is of the server's time.
The machine   Folders and the port in 319; the opaque of an answer to a request without one.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from interop.golden.compare import settle, split
from interop.golden.tokens import Node, parse, sort_at, write
from interop.harness.wire import ROCKETMQ, decode_binary_header, frame

# By the first member that a body has. Inner collections come before the ones that hold them.
ALWAYS = {
    '"brokerAddrTable"': (
        "brokerAddrTable.*.brokerAddrs", "brokerAddrTable", "clusterAddrTable.*", "clusterAddrTable",
    ),
    '"brokerDatas"': ("brokerDatas", "queueDatas"),
    '"brokerMemberGroup"': ("brokerMemberGroup.brokerAddrs",),
    '"brokerAddr"': ("topicList",),
    '"topicList"': ("topicList",),
    '"table"': ("table",),
}  # fmt: skip
FOR_OLD_PEERS = (
    "brokerDatas.*.brokerAddrs",
    "filterServerTable",
    "topicQueueMappingByBroker.*.currIdMap",
    "topicQueueMappingByBroker",
)
BARE_KEY = re.compile(r"[{,]-?\d+:")
EXCEPTION = re.compile(r'"remark":"((?:java|javax|com|org|io)(?:\.\w+)*\.\w*(?:Exception|Error)\b(?:[^"\\]|\\.)*)"')
DECODE_FAILURE = re.compile(
    r"org\.apache\.rocketmq\.remoting\.exception\.RemotingCommandException: [^,:]+,"
    r"|com\.alibaba\.fastjson2\.JSONException: "
)
REMARK = re.compile(r'"remark":"((?:[^"\\]|\\.)+)"')
TIMESTAMP = re.compile(r'"timestamp":(\d{13})\b')
OPAQUE = re.compile(r'"opaque":-?\d+')
BROKER_ADDR = re.compile(r'^\{"brokerAddr":"[^"]+"')
NOW_WITHIN_S = 600

Parts = dict[str, str]


def compare(java: bytes, rocketns: bytes, homes: tuple[Path, Path], *, no_opaque: bool = False,
            exact: bool = False) -> dict[str, tuple[str, str]]:  # fmt: skip
    """Two whole answers: the parts that differ, each as Java and as rocketns has it."""
    if java == rocketns and not any(str(home).encode() in java for home in homes):
        return {}  # most answers; reading them as JSON is what takes long
    sides = [_parts(settle(answer, home)) for answer, home in zip((java, rocketns), homes, strict=True)]
    if not exact:
        _even_bodies(sides)
    for parts in sides:
        parts["body"] = TIMESTAMP.sub(_now, parts["body"])
        if no_opaque:
            parts["header"] = OPAQUE.sub('"opaque":ANY', parts["header"])
    _even_remarks(sides)
    one, other = sides
    return {part: (one[part], other[part]) for part in one if one[part] != other[part]}


def file_text(content: bytes, home: Path) -> str:
    """A file's content without the machine in it: JSON with its members sorted, anything else as it is."""
    _, body, _ = split(settle(frame(b"", content), home))
    try:
        return json.dumps(json.loads(body), sort_keys=True, ensure_ascii=False)
    except ValueError:
        return body.decode("latin-1")


def _parts(answer: bytes) -> Parts:
    header, body, kind = split(answer)
    if kind == ROCKETMQ:
        text = json.dumps(decode_binary_header(header), separators=(",", ":"), ensure_ascii=False)
    else:
        text = header.decode("latin-1")
    return {"type": str(kind), "header": text, "body": body.decode("latin-1")}


def _even_bodies(sides: list[Parts]) -> None:
    """Java's own body says in which mode it is."""
    old = BARE_KEY.search(sides[0]["body"]) is not None
    bodies = [_sorted(parts["body"], old) for parts in sides]
    if all(body.startswith('{"brokerAddr":"') for body in bodies):
        bodies = [BROKER_ADDR.sub('{"brokerAddr":ONE_OF_MANY', body) for body in bodies]
    for parts, body in zip(sides, bodies, strict=True):
        parts["body"] = body


def _sorted(body: str, old: bool) -> str:
    first = re.match(r'\{("\w+")', body)
    if first is None or first[1] not in ALWAYS:
        return body
    try:
        node = parse(body)
        for path in (FOR_OLD_PEERS if old else ()) + ALWAYS[first[1]]:
            node = _sort(node, path)
        return write(node)
    except (ValueError, AttributeError):
        return body  # not the expected form, so it is compared unchanged


def _sort(node: Node, path: str) -> Node:
    return sort_at(node, path.split("."))


def _now(match: re.Match[str]) -> str:
    near = abs(int(match[1]) / 1000 - time.time()) < NOW_WITHIN_S
    return '"timestamp":NOW' if near else match[0]


def _even_remarks(sides: list[Parts]) -> None:
    """Where Java's is an exception: the class of a failure to decode a body, and elsewhere only that there is one."""
    found = EXCEPTION.search(sides[0]["header"])
    if found is None:
        return
    for parts in sides:
        remark = REMARK.search(parts["header"])
        if remark is not None:
            known = DECODE_FAILURE.match(remark[1]) if DECODE_FAILURE.match(found[1]) else None
            start, end = remark.span(1)
            text = known[0] if known else "EXCEPTION"
            parts["header"] = parts["header"][:start] + text + parts["header"][end:]
