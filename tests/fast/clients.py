"""GET_ROUTEINFO_BY_TOPIC as real clients write it: the header's members, their order, and its end."""

from __future__ import annotations

import json
from collections.abc import Mapping

from interop.harness.wire import JSON, ROCKETMQ, binary_header, frame

GET_ROUTE = 105

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
    fields, language, version = _BINARY_HEADERS[name]
    ext = {key: value.replace("%t", topic) for key, value in fields.items()}
    header = binary_header(GET_ROUTE, ext, opaque=opaque, version=version, language=language)
    return frame(header, b"", ROCKETMQ)


# Signed lookups in both forms of a header. The signature is a text: who checks it is not part of these tests.

KEYS = bytes(range(32))  # two keys of 16 bytes: of JSON and of binary headers
SIGNATURE = "kKm0P8pT3+u4/1c="


def fields(topic: str, signature: str, key: str, more: Mapping[str, str]) -> dict[str, str]:
    return {"Signature": signature, "topic": topic, "AccessKey": key, **more}


def signed(
    topic: str, *, signature: str = SIGNATURE, key: str = "rocketmq2", opaque: int = 7, version: int = 477,
    language: str = "JAVA", more: Mapping[str, str] = {}, body: bytes = b"",
) -> bytes:  # fmt: skip
    """The frame of a lookup with a JSON header."""
    header = {
        "code": 105, "extFields": fields(topic, signature, key, more), "flag": 0, "language": language,
        "opaque": opaque, "serializeTypeCurrentRPC": "JSON", "version": version,
    }  # fmt: skip
    return frame(json.dumps(header, separators=(",", ":")).encode(), body, JSON)


def signed_binary(topic: str, *, opaque: int = 7, body: bytes = b"") -> bytes:
    """The frame of the same lookup with a binary header."""
    header = binary_header(105, fields(topic, SIGNATURE, "rocketmq2", {}), opaque=opaque, version=477)
    return frame(header, body, ROCKETMQ)
