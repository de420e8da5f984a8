"""The parts of an answer that are not compared, and why. Everything else is compared as bytes.

Hash order    Java lists these in the order of its hash maps: brokers and clusters of 106, addresses of 106 and 901,
              topics of 206, 224, 304, 311-313, key-value pairs of 219 and 103, broker and queue data of 105, and for
              peers before 4.9.4 (or with a zone) the maps in 105, which are sorted for all others and so compared.
One of many   The broker address of 304 is the first of the first group, both in hash order.
Exceptions    A remark that is a Java exception holds a stack frame. That there is one is compared, and for a body that
              cannot be decoded the class of the failure.
The clock     A data version that a registration did not bring is of the server's time.
The opaque    Of an answer to a request without one it is the server's own.

Of a shadow, which runs beside Java's on other paths and another port, and before Java of any release, also:

The release   The version number in each header; the address in the remark of code 17; for Java before 5.0 a member
              that it does not have.
The machine   In the answer to 319 the address, port, folders and passwords, and rocketns' own properties.
"""

from __future__ import annotations

import re
from functools import partial

from rocketns.protocol.codes import V5_0_0, RequestCode, SerializeType
from rocketns.shadow.frames import header_text, joined, split
from rocketns.shadow.tree import UnreadableError, parse_compact, sort_at, write

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
FIRST_MEMBER = re.compile(r'\{("\w+")')
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
NOW_WITHIN_MS = 600_000
VERSION = re.compile(r'"version":(-?\d+)(?=[,}])')
FAQ = re.compile(r"See https?://[\w./-]+ for further details")
# rocketns shows no passwords.
MACHINE = re.compile(
    r"^(bindAddress|configStorePath|kvConfigPath|listenPort|rocketmqHome|(?i:[^=\n]*password[^=\n]*))=.*\n?", re.M
)
LAST_VERSION = re.compile(rb'"version":(\d{1,5})\}$')
NO_ACTING_MASTER = b',"enableActingMaster":false'
OWN = re.compile(r"^(?:rocketns\.|journal)\w[\w.]*=.*\n?", re.M)

# The parts of an answer as text: type, header and body.
Side = dict[str, str]


def differing(
    upstream: bytes, own: bytes, now_ms: int, *, no_opaque: bool = False, exact: bool = False, code: int | None = None
) -> dict[str, tuple[str, str]]:
    """Two whole answers: the parts ``type``, ``header`` and ``body`` that differ, each as Java and as rocketns has it.

    ``exact``: nothing is sorted before. ``code``: that of the request, in a shadow. ValueError for bytes that are no
    frame.
    """
    sides = [parts_of(answer) for answer in (upstream, own)]
    make_even(sides, now_ms, no_opaque=no_opaque, exact=exact)
    if code is not None:
        _leave_out_release_and_machine(code, sides)
    one, other = sides
    return {part: (one[part], other[part]) for part in one if one[part] != other[part]}


def parts_of(answer: bytes) -> Side:
    """The compared parts of a frame as text. ValueError if it is none."""
    parts = split(answer)
    return {"type": str(parts.kind), "header": header_text(parts), "body": parts.body.decode("latin-1")}


def make_even(sides: list[Side], now_ms: int, *, no_opaque: bool = False, exact: bool = False) -> None:
    """Leave out of Java's and of rocketns' answer what is not compared."""
    if not exact:
        _sort_bodies(sides)
    for parts in sides:
        parts["body"] = TIMESTAMP.sub(partial(_now, now_ms), parts["body"])
        if no_opaque:
            parts["header"] = OPAQUE.sub('"opaque":ANY', parts["header"])
    _even_remarks(sides)


def _now(now_ms: int, match: re.Match[str]) -> str:
    return '"timestamp":NOW' if abs(int(match[1]) - now_ms) < NOW_WITHIN_MS else match[0]


def _sort_bodies(sides: list[Side]) -> None:
    """Java's own body says in which dialect it is."""
    old = BARE_KEY.search(sides[0]["body"]) is not None
    bodies = [_sorted(parts["body"], old) for parts in sides]
    if all(body.startswith('{"brokerAddr":"') for body in bodies):
        bodies = [BROKER_ADDR.sub('{"brokerAddr":ONE_OF_MANY', body) for body in bodies]
    for parts, body in zip(sides, bodies, strict=True):
        parts["body"] = body


def _sorted(body: str, old: bool) -> str:
    first = FIRST_MEMBER.match(body)
    if first is None or first[1] not in ALWAYS:
        return body
    try:
        node = parse_compact(body)
        for path in (FOR_OLD_PEERS if old else ()) + ALWAYS[first[1]]:
            node = sort_at(node, path.split("."))
        return write(node)
    except (UnreadableError, AttributeError):
        return body  # not the expected form, so it is compared unchanged


def _even_remarks(sides: list[Side]) -> None:
    """Where Java's is an exception: the class of a failure to decode a body, and elsewhere only that there is one."""
    found = EXCEPTION.search(sides[0]["header"])
    if found is None:
        return
    for parts in sides:
        remark = REMARK.search(parts["header"])
        if remark is not None:
            failure = DECODE_FAILURE.match(remark[1]) if DECODE_FAILURE.match(found[1]) else None
            start, end = remark.span(1)
            text = failure[0] if failure else "EXCEPTION"
            parts["header"] = parts["header"][:start] + text + parts["header"][end:]


def _leave_out_release_and_machine(code: int, sides: list[Side]) -> None:
    for parts in sides:
        parts["header"] = FAQ.sub("See URL for further details", VERSION.sub('"version":ANY', parts["header"]))
        if code == RequestCode.GET_NAMESRV_CONFIG:
            parts["body"] = OWN.sub("", MACHINE.sub("", parts["body"]))


def as_before_5_0(upstream: bytes, own: bytes) -> bytes:
    """rocketns' answer as Java's release of the upstream would write it: before 5.0 brokers have no acting masters.

    A member is found by its bytes: in a text its quotes would have backslashes.
    """
    version = version_of(upstream)
    if version is None or version >= V5_0_0 or NO_ACTING_MASTER not in own:
        return own
    parts = split(own)
    return joined(parts._replace(body=parts.body.replace(NO_ACTING_MASTER, b"")))


def version_of(answer: bytes) -> int | None:
    """The number of the server's release; None if the answer has none."""
    header = answer[8 : 8 + int.from_bytes(answer[5:8], "big")]
    if answer[4:5] == bytes([SerializeType.ROCKETMQ]):
        return int.from_bytes(header[3:5], "big")
    found = LAST_VERSION.search(header)
    return None if found is None else int(found[1])
