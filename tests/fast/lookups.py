"""Lookups: as real clients write them, as property tests vary them, and the reference's answers to them."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.wire import JSON, ROCKETMQ, Client, binary_header, frame
from rocketns._fast.codec import wire
from rocketns.errors import MalformedFrame
from rocketns.processor import requests
from rocketns.protocol import command
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.encoding import encode_reply
from rocketns.routeinfo.unregistration import unregister_brokers
from rocketns.server.publishing.publisher import Publisher
from tests.processor.asking import World
from tests.protocol.strategies import INT_MAX, INT_MIN, json_values, mutated, texts

GET_ROUTE = 105

# GET_ROUTEINFO_BY_TOPIC as real clients write it: the header's members, their order, and its end.
# %t is the topic and %o the opaque. The version is not fixed: Java's and the C++ client's depend on the release.
_JSON_HEADERS = {
    "Java 5.x": (
        '{"code":105,"extFields":{"acceptStandardJsonOnly":"true","topic":"%t"},"flag":0,"language":"JAVA",'
        '"opaque":%o,"serializeTypeCurrentRPC":"JSON","version":513}'
    ),
    "Java 4.9": (
        '{"code":105,"extFields":{"topic":"%t"},"flag":0,"language":"JAVA","opaque":%o,'
        '"serializeTypeCurrentRPC":"JSON","version":399}'
    ),
    "Java with access keys": (
        '{"code":105,"extFields":{"Signature":"kKm0P8pT3+u4/1c=","topic":"%t","AccessKey":"rocketmq2",'
        '"SecurityToken":"a-b_c.d"},"flag":0,"language":"JAVA","opaque":%o,"serializeTypeCurrentRPC":"JSON",'
        '"version":477}'
    ),
    "Java in a namespace": (
        '{"code":105,"extFields":{"topic":"%t","lo":"false","ns":"ns","nsd":"true","oway":"false","bname":"b"},'
        '"flag":0,"language":"JAVA","opaque":%o,"serializeTypeCurrentRPC":"JSON","version":495}'
    ),
    "Go": (
        '{"code":105,"language":"GO","version":317,"opaque":%o,"flag":0,"remark":"","extFields":{"topic":"%t"}}'
    ),
    "Rust": (
        '{"code":105,"language":"RUST","version":493,"opaque":%o,"flag":0,"remark":null,'
        '"extFields":{"acceptStandardJsonOnly":"true","topic":"%t"},"serializeTypeCurrentRPC":"JSON"}'
    ),
    "C++, and Python by its library": (
        '{"code":105,"extFields":{"AccessKey":"","OnsChannelKey":"","Signature":"","topic":"%t"},"flag":0,'
        '"language":"CPP","opaque":%o,"remark":"","version":49}\n'
    ),
    "Node ali-ons": (
        '{"code":105,"language":"JAVA","opaque":%o,"flag":0,"version":121,"extFields":{"topic":"%t"}}'
    ),
    "Node rocketmq": (
        '{"code":105,"language":"JAVA","opaque":%o,"flag":0,"version":78,"extFields":{"topic":"%t"}}'
    ),
}  # fmt: skip
_BINARY_HEADERS = {
    "Java 5.x": ({"acceptStandardJsonOnly": "true", "topic": "%t"}, 0, 513),
    "Java 4.9": ({"topic": "%t"}, 0, 399),
    "Java with access keys": ({"Signature": "kKm0P8pT3+u4/1c=", "topic": "%t", "AccessKey": "rocketmq2"}, 0, 477),
    "Go": ({"topic": "%t"}, 9, 317),
    "Rust": ({"acceptStandardJsonOnly": "true", "topic": "%t"}, 12, 493),
}

CLIENTS = [f"{name}, JSON" for name in _JSON_HEADERS] + [f"{name}, binary" for name in _BINARY_HEADERS]


def look_up(client: str, topic: str = "TopicTest", opaque: int = 7) -> bytes:
    """The frame that a client of `CLIENTS` sends."""
    name, form = client.rsplit(", ", 1)
    if form == "JSON":
        return frame(_JSON_HEADERS[name].replace("%t", topic).replace("%o", str(opaque)).encode(), b"", JSON)
    pairs, language, version = _BINARY_HEADERS[name]
    ext = {key: value.replace("%t", topic) for key, value in pairs.items()}
    header = binary_header(GET_ROUTE, ext, opaque=opaque, version=version, language=language)
    return frame(header, b"", ROCKETMQ)


def looked_up(client: Client, topic: str = "TopicTest", opaque: int = 7) -> bytes:
    """The frame of the answer to a lookup."""
    client.send(look_up(CLIENTS[0], topic, opaque))
    return client.receive_frame()


# Signed lookups in both forms of a header. The signature is a text: who checks it is not part of these tests.

KEYS = bytes(range(64))  # two keys of 32 bytes: of JSON and of binary headers
SIGNATURE = "kKm0P8pT3+u4/1c="


def signed_fields(topic: str, signature: str, key: str, more: Mapping[str, str]) -> dict[str, str]:
    return {"Signature": signature, "topic": topic, "AccessKey": key, **more}


def signed(
    topic: str, *, signature: str = SIGNATURE, key: str = "rocketmq2", opaque: int = 7, version: int = 477,
    language: str = "JAVA", more: Mapping[str, str] = {}, body: bytes = b"",
) -> bytes:  # fmt: skip
    """The frame of a lookup with a JSON header."""
    header = {
        "code": 105, "extFields": signed_fields(topic, signature, key, more), "flag": 0, "language": language,
        "opaque": opaque, "serializeTypeCurrentRPC": "JSON", "version": version,
    }  # fmt: skip
    return frame(json.dumps(header, separators=(",", ":")).encode(), body, JSON)


def signed_binary(topic: str, *, opaque: int = 7, body: bytes = b"") -> bytes:
    """The frame of the same lookup with a binary header."""
    header = binary_header(105, signed_fields(topic, SIGNATURE, "rocketmq2", {}), opaque=opaque, version=477)
    return frame(header, body, ROCKETMQ)


# Lookups and similar frames: any members, fields, versions and flags; cut, mutated, hostile.

TOPICS = ["T1", "T2", "T3", "rmq_sys_SYNC_BROKER_MEMBER_ba", "%RETRY%g", "nobody's"]
ODD_TOPICS = ["", " ", "Ü", 'T"1', "T\\1", "T\x01", "T\x7f", "T" * 1024, "T" * 1025]

topics = st.one_of(st.sampled_from(TOPICS), st.sampled_from(TOPICS), st.sampled_from(ODD_TOPICS), texts)
versions = st.one_of(st.sampled_from([-1, 0, 49, 121, 317, 399, 400, 401, 402, 513, 32767]), st.integers(-9, 600))
opaques = st.one_of(st.integers(INT_MIN, INT_MAX), st.sampled_from([0, -1, INT_MIN, INT_MAX]))
flags = st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4, -1])
codes = st.sampled_from([GET_ROUTE] * 8 + [0, 106, 103, -105])
fields = st.dictionaries(
    st.one_of(st.sampled_from(["Signature", "AccessKey", "lo", "announcedAddresses", "", "Topic", "topic "]), texts),
    texts,
    max_size=3,
)
zones = st.sampled_from(
    [{}, {}, {}, {"__ZONE_MODE": "true"}, {"__ZONE_NAME": "z1"}, {"__ZONE_MODE": "true", "__ZONE_NAME": "z1"}]
)
standards = st.sampled_from(
    [{}, {}, *({"acceptStandardJsonOnly": value} for value in ("true", "false", "TRUE", "1", "", "true "))]
)


odd_numbers = st.sampled_from(
    ["1.0", "1e2", "-0", "00", "01", "105.0", '"105"', "null", "true", "2147483648", "-2147483649", "9" * 19, "9" * 20]
)
lenient_values = st.one_of(odd_numbers, st.builds(json.dumps, json_values))


@st.composite
def ext_pairs(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Ext fields in any order. Sometimes a field occurs twice or the topic is missing."""
    ext = draw(fields) | draw(zones) | draw(standards)
    if draw(st.integers(0, 9)):
        ext["topic"] = draw(topics)
    pairs = draw(st.permutations(list(ext.items())))
    if pairs and not draw(st.integers(0, 5)):
        pairs = [*pairs, (draw(st.sampled_from(pairs))[0], draw(topics))]
    return pairs


def _text(value: Any, draw: st.DrawFn) -> str:
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


def _object(members: list[tuple[str, str]], separators: tuple[str, str]) -> str:
    comma, colon = separators
    return "{" + comma.join(f"{json.dumps(key)}{colon}{value}" for key, value in members) + "}"


@st.composite
def json_headers(draw: st.DrawFn) -> bytes:
    """As JSON, mostly without blanks: members in any order, some missing, twice, unknown or of an odd type."""
    separators = draw(st.sampled_from([(",", ":")] * 5 + [(", ", ": ")]))
    ext = [(key, _text(value, draw)) for key, value in draw(ext_pairs())]
    members = [
        ("code", str(draw(codes))),
        ("extFields", _object(ext, separators)),
        ("flag", str(draw(flags))),
        ("language", draw(st.sampled_from(['"JAVA"', '"GO"', '"ELVISH"', '"Ü"', "9", "14", "null"]))),
        ("opaque", str(draw(opaques))),
        ("remark", draw(st.sampled_from(['""', "null", '"Ü"', "[[1]]", "{}", '"x"']))),
        ("serializeTypeCurrentRPC", draw(st.sampled_from(['"JSON"', '"ROCKETMQ"', '"?"', "1", "2"]))),
        ("version", str(draw(versions))),
    ]
    members = draw(st.permutations(members))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at = draw(st.integers(0, len(members) - 1))
        change = draw(st.sampled_from(["leave out", "odd", "twice", "unknown"]))
        if change == "leave out":
            members = members[:at] + members[at + 1 :] or members
        elif change == "unknown":
            members = [*members, ("unknown", draw(lenient_values))]
        else:
            odd = (members[at][0], draw(lenient_values))
            members = [*members, odd] if change == "twice" else [*members[:at], odd, *members[at + 1 :]]
    end = draw(st.sampled_from(["", "", "", "\n", " ", "\r\n", "\n\n", "x", "\0"]))
    return _object(members, separators).encode() + end.encode()


@st.composite
def binary_headers(draw: st.DrawFn) -> bytes:
    """With correct lengths; wrong lengths are made by mutation."""
    pairs = b""
    for key, value in draw(ext_pairs()):
        k, v = key.encode(), value.encode()
        pairs += struct.pack(">h", len(k)) + k + struct.pack(">i", len(v)) + v
    remark = draw(st.sampled_from([b"", b"", b"", b"r", b"\xff"]))
    code, language, version = draw(codes), draw(st.integers(0, 255)), draw(versions)
    head = struct.pack(">hBhii", code, language, version, draw(opaques), draw(flags))
    return head + struct.pack(">i", len(remark)) + remark + struct.pack(">i", len(pairs)) + pairs


bodies = st.one_of(st.just(b""), st.just(b""), st.binary(max_size=9))
valid_frames = st.one_of(
    st.builds(frame, json_headers(), bodies, st.just(JSON)),
    st.builds(frame, binary_headers(), bodies, st.just(ROCKETMQ)),
    st.builds(look_up, st.sampled_from(CLIENTS), topics, opaques),
)


@st.composite
def _broken_inside(draw: st.DrawFn) -> bytes:
    """The header's bytes are mutated, and the frame's lengths stay right."""
    whole = draw(valid_frames)
    return frame(draw(mutated(st.just(whole[8:]))), draw(bodies), whole[4])


def _repaired(data: bytes) -> bytes:
    """The bytes with a correct length field before them."""
    return struct.pack(">i", len(data) - 4) + data[4:]


any_frames = st.one_of(valid_frames, valid_frames, _broken_inside(), mutated(valid_frames).map(_repaired))


# A name server without sockets whose slots follow its tables.

FRAME_BYTES_MAX = 16 * 1024 * 1024
CLOSES = b"closes"


class PublishedWorld(World):
    """A name server's state. Every change is published before its request is answered, as in control."""

    def __init__(self, home: Path, properties: str = "") -> None:
        super().__init__(home, properties)
        self.publisher = Publisher(self.context.tables)
        self.slots = self.publisher.slots

    def publish(self) -> None:
        """Process a request, then publish its change."""
        tables = self.context.tables
        self.context.events += unregister_brokers(
            tables, self.context.unregister_queue.remove_first(10**6), self.now.ms
        )
        self.publisher.publish(self.context.drain_events())

    def reference(self, frame: bytes, serialize_type: SerializeType = SerializeType.JSON) -> bytes | None:
        """The whole answer to a frame; `CLOSES`, or None where there is none."""
        if wire.next_frame(frame, 0, FRAME_BYTES_MAX) != len(frame):
            return CLOSES
        try:
            request = command.decode(frame)
        except MalformedFrame:
            return CLOSES
        if request.is_response or request.is_oneway:
            return None
        reply = requests.process(self.context, request, self.peer, self.now)
        return encode_reply(reply, request.opaque, serialize_type, self.context.release.version)


def populated(home: Path, properties: str = "") -> PublishedWorld:
    """Topics on one broker, on two, on a broker of another cluster, static ones, and ones with filter servers."""
    world = PublishedWorld(home, properties)

    def register(topics: list[str], broker: str, addr: str, **more: object) -> None:
        filters, mapping = more.pop("filters", ()), more.pop("mapping", None)
        configs = [topic_config(name, perm=4 + 2 * (len(name) % 2)) for name in topics]
        body = register_body(configs, data_version(), filters=filters, mapping=mapping)  # type: ignore[arg-type]
        world.ask(103, register_ext(broker=broker, addr=addr, body=body, **more), body)

    register(["T1", "T2", "%RETRY%g", "rmq_sys_SYNC_BROKER_MEMBER_ba"], "ba", "10.0.0.1:10911")
    register(["T1", "T2", "Ü"], "bb", "10.0.0.2:10911", cluster="C2", __ZONE_NAME="z1", enableActingMaster="true")
    register(["T1", "T2"], "bb", "10.0.0.3:10911", cluster="C2", broker_id=2, enableActingMaster="true")
    register(["static", "x"], "bc", "10.0.0.4:10911", mapping={"static": {"topic": "static", "bname": "bc"}})
    register(["filtered", "x"], "bd", "10.0.0.5:10911", filters=["10.0.0.5:99"])
    world.publish()
    return world
