"""REGISTER_BROKER: bodies of every version, missing fields, and refused bodies (B109-B144, B159-B167)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

from interop.harness.payloads import compressed_body, data_version, dumps, register_body, topic_config, wrapper
from interop.parity.language import (
    NAME,
    ONE_FORM,
    Deflated,
    Form,
    Scenario,
    Settle,
    Step,
)
from interop.parity.requests import (
    cluster_info,
    configs,
    configure,
    members,
    own,
    query_version,
    register,
    route,
    routes,
    topic,
)

TOPICS = configs(("T", "U"))
PLAIN = register_body(TOPICS)
TABLE = dumps(wrapper(TOPICS)["topicConfigTable"])
VERSION = dumps(data_version())
DEFLATED: dict[str, Any] = {"compressed": "true"}
AFTERWARDS = (*routes("T"), query_version())

# Plain bodies: name, rows, what is replaced in a good body and by what.
PLAIN_BODIES = (
    ("null-body", "B133", PLAIN, b"null"),
    ("empty-object", "B132", PLAIN, b"{}"),
    ("array", "B134", PLAIN, b"[]"),
    ("text", "B134", PLAIN, b"hello"),
    ("cut", "B134", PLAIN, PLAIN[:40]),
    ("unknown-keys", "B013", b'{"filterServerList"', b'{"a":{"b":[1]},"filterServerList"'),
    ("followed-by-text", "B134", PLAIN, PLAIN + b"x"),
    ("null-wrapper", "B138 B139", PLAIN, b'{"topicConfigSerializeWrapper":null}'),
    ("no-wrapper", "B132", PLAIN, b'{"filterServerList":[]}'),
    ("null-table", "B138 B139", TABLE, b"null"),
    ("empty-table", "B112", TABLE, b"{}"),
    ("no-table", "B112", b'"topicConfigTable":' + TABLE + b",", b""),
    ("array-as-table", "B134", TABLE, b"[]"),
    ("null-version", "B140", VERSION, b"null"),
    ("empty-version", "B131", VERSION, b"{}"),
    ("no-version", "B131", b'"dataVersion":' + VERSION + b",", b""),
    ("version-without-state", "B168", b'"stateVersion":0,', b""),
    ("version-with-quotes", "B014", b'"counter":1', b'"counter":"7"'),
    ("version-with-null-counter", "B140", b'"counter":1', b'"counter":null'),
    ("version-with-fraction", "B134", b'"counter":1', b'"counter":1.5'),
    ("version-with-word", "B134", b'"counter":1', b'"counter":"x"'),
    ("null-filters", "B161", b'"filterServerList":[]', b'"filterServerList":null'),
    ("filter-as-text", "B161", b'"filterServerList":[]', b'"filterServerList":"f:1"'),
    ("null-filter", "B161", b'"filterServerList":[]', b'"filterServerList":[null,"f:1"]'),
    ("number-as-filter", "B161", b'"filterServerList":[]', b'"filterServerList":[5]'),
    ("null-topic", "B135", b'"topicConfigTable":{', b'"topicConfigTable":{"N":null,'),
    ("topic-as-text", "B134", b'"topicConfigTable":{', b'"topicConfigTable":{"N":"x",'),
    ("quoted-perm", "B014", b'"perm":6', b'"perm":"4"'),
    ("null-perm", "B136", b'"perm":6', b'"perm":null'),
    ("perm-as-word", "B134", b'"perm":6', b'"perm":"rw"'),
    ("perm-with-fraction", "B134", b'"perm":6', b'"perm":4.0'),
    ("perm-too-large", "B134", b'"perm":6', b'"perm":4294967302'),
    ("perm-negative", "B136", b'"perm":6', b'"perm":-1'),
    ("null-queues", "B136", b'"readQueueNums":8', b'"readQueueNums":null'),
    ("queues-as-true", "B136", b'"readQueueNums":8', b'"readQueueNums":true'),
    ("null-filter-type", "B136", b'"SINGLE_TAG"', b"null"),
    ("unknown-filter-type", "B136", b'"SINGLE_TAG"', b'"NO_TAG"'),
    ("null-attributes", "B136", b'"attributes":{}', b'"attributes":null'),
    ("attributes", "B136", b'"attributes":{}', b'"attributes":{"+message.type":"FIFO"}'),
    ("attributes-as-text", "B134", b'"attributes":{}', b'"attributes":"x"'),
    ("null-order", "B136", b'"order":false', b'"order":null'),
    ("order-as-text", "B136", b'"order":false', b'"order":"true"'),
    ("white-space", "B132", b'"perm":6', b' "perm" :\t6 \r\n'),
    ("single-quotes", "B132", b'"perm":6', b"'perm':6"),
    ("key-twice", "B132", b'"perm":6', b'"perm":2,"perm":4'),
    ("only-names", "B136", TABLE, dumps({one["topicName"]: {"topicName": one["topicName"]} for one in TOPICS})),
    ("swapped-keys", "B137", TABLE, dumps(dict(zip(("x", "y"), TOPICS, strict=True)))),
    ("two-keys-for-a-topic", "B137", TABLE, dumps({"x": TOPICS[0], "y": {**TOPICS[0], "perm": 4}, "z": TOPICS[1]})),
    (
        "other-topic-names",
        "B088 B137",
        TABLE,
        dumps({n: topic_config(n + NAME) for n in ("ü😀", 'q"\\/', "a b", "\x7f")}),
    ),
)


def _plain() -> Iterator[Scenario]:
    for name, rows, old, new in PLAIN_BODIES:
        assert old in PLAIN, name
        body = PLAIN.replace(old, new)
        fresh: tuple[Step, ...] = (register(body=body), *AFTERWARDS)
        known: tuple[Step, ...] = (
            register(name="b", host=2),
            register(name="b", host=2, body=body),
            route(),
            route("U"),
        )
        # Java keeps the group of a broker that registers without a table: see leaving.py.
        yield Scenario(f"body-{name}", rows, known if "B139" in rows else fresh + known, forms=ONE_FORM)


# Bodies that Java's decoder refuses, where its answer names the class of what it threw.
UNREADABLE = (
    b"hello", b"{", b"[]", b"5", b'"x"', b"{}x", b'{"dataVersion":5}', b'{"topicConfigTable":{"a":{"perm":"x"}}}',
    b'{"topicConfigTable":{"a":null}}', b'{"counter":"x"}', b'{"timestamp":{}}',
)  # fmt: skip


def _unreadable() -> Iterator[Scenario]:
    old = Form(False, 36)
    for number, body in enumerate(UNREADABLE):
        steps = (register(body=body, form=old), query_version(body=body), cluster_info())
        yield Scenario(f"unreadable-bare-body-{number}", "B122 B134", steps, forms=ONE_FORM)


def _ages() -> Iterator[Scenario]:
    yield Scenario("broker-of-its-age", "B109 B122 B123 B124 B008 B005", (register(), *AFTERWARDS, cluster_info()))
    yield Scenario("broker-of-its-age-without-acting-master", "B109 B122 B123",
                   (register(enableActingMaster=None), *AFTERWARDS))  # fmt: skip
    yield Scenario("no-body", "B131", (register(body=b""), query_version(), members()))
    for version in (-1, -32768, 612, 613, 700, 32767):
        yield Scenario(
            f"version-{version}", "B124 B125", (register(form=Form(False, version)), route(form=Form(True, version)),
            cluster_info(form=Form(True, version))), forms=ONE_FORM)  # fmt: skip
    for count in (0, 1, 2, 30):
        topics = tuple(f"T{number:02}" for number in range(count))
        steps: tuple[Step, ...] = (
            register(topics, body=None), register(topics), route("T00"), register(("N",)), route("N"),
        )  # fmt: skip
        # Java keeps the group of a single topic that was refused.
        after: tuple[Step, ...] = () if count == 1 else (cluster_info(),)
        yield Scenario(f"topics-{count}", "B109 B110 B111 B112", (*steps, *after), state=count != 1)


def _deflated() -> Iterator[Scenario]:
    yield Scenario("deflated", "B126 B128", (register(("T", "U"), deflated=True), *AFTERWARDS))
    yield Scenario("deflated-with-filters", "B126 B128 B161",
                   (register(deflated=True, filters=("f1:1", "f2:2")), *AFTERWARDS))  # fmt: skip
    older = register(body=compressed_body(TOPICS, mapping=None), form=Form(False, 412))
    marked = (register(body=body) for body in (zlib.compress(PLAIN), zlib.compress(PLAIN)[:-9], b"x" + PLAIN))
    yield Scenario("deflated-marked-plain", "B130", (older, *marked, *AFTERWARDS))
    good = zlib.decompress(compressed_body(TOPICS))
    short = zlib.decompress(compressed_body(TOPICS, mapping=None))
    bodies: dict[str, tuple[str, bytes | Deflated]] = {
        "plain-json": ("B129", PLAIN),
        "no-zlib": ("B129", b"\x78\x9cgarbage"),
        "cut-zlib": ("B129", zlib.compress(good)[:-20]),
        "cut-content": ("B129", Deflated(good[:60])),
        "without-mapping-count": ("B127 B128", Deflated(short)),
        "more-after-the-end": ("B126", Deflated(good + b"more")),
        "empty": ("B129", Deflated(b"")),
        "negative-topic-count": ("B129", Deflated(_with_count(good, -1))),
        "too-large-topic-count": ("B129", Deflated(_with_count(good, 3))),
        "five-words": ("B126", Deflated(_with_lines(good))),
        "bad-perm": ("B129", Deflated(good.replace(b" 8 8 6 ", b" 8 8 x "))),
        "bad-filter-type": ("B129", Deflated(good.replace(b"SINGLE_TAG", b"SINGLE_TAX"))),
        "bad-attributes": ("B126", Deflated(good.replace(b"SINGLE_TAG {}", b"SINGLE_TAG }{"))),
        "no-body": ("B131", b""),
    }
    for name, (rows, body) in bodies.items():
        steps = (register(body=body, **DEFLATED), *AFTERWARDS)
        yield Scenario(f"deflated-{name}", rows, steps, forms=(Form(False, 513), Form(True, 400), Form(False, 36)))


def _with_count(stream: bytes, count: int) -> bytes:
    """The stream with another number of topics in it."""
    (length,) = struct.unpack_from(">i", stream)
    return stream[: 4 + length] + struct.pack(">i", count) + stream[8 + length :]


def _with_lines(good: bytes) -> bytes:
    """Topic lines without their sixth word, and their lengths put right."""
    for one in TOPICS:
        line = f"{one['topicName']} 8 8 6 SINGLE_TAG {{}}".encode()
        shorter = line.removesuffix(b" {}")
        good = good.replace(struct.pack(">i", len(line)) + line, struct.pack(">i", len(shorter)) + shorter)
    return good


def _fields() -> Iterator[Scenario]:
    variants: dict[str, tuple[str, dict[str, Any]]] = {
        "checksum-right": ("B120", {}),
        "checksum-0": ("B120", {"bodyCrc32": "0"}),
        "checksum-absent": ("B120", {"bodyCrc32": None}),
        "checksum-unparsable": ("B084 B120", {"bodyCrc32": "x"}),
        "checksum-too-large": ("B084 B120", {"bodyCrc32": "4294967296"}),
        "checksum-wrong": ("B121", {"bodyCrc32": "12345"}),
        "checksum-negative": ("B121", {"bodyCrc32": "-1"}),
        "checksum-without-body": ("B121", {"bodyCrc32": "5", "body": b""}),
        "id-absent": ("B141", {"brokerId": None}),
        "id-unparsable": ("B141", {"brokerId": "x"}),
        "id-with-blank": ("B141", {"brokerId": " 0"}),
        "id-with-plus": ("B084", {"brokerId": "+1"}),
        "id-too-large": ("B141", {"brokerId": "9223372036854775808"}),
        "id-in-arabic-digits": ("B084", {"brokerId": "\u0661"}),
        "id-in-digits-beyond-16-bit": ("B084 B141", {"brokerId": "\U0001d7cf"}),
        "id-largest": ("B145", {"brokerId": "9223372036854775807"}),
        "id-negative": ("B145", {"brokerId": "-3"}),
        "cluster-absent": ("B142", {"clusterName": None}),
        "timeout-unparsable": ("B084 B166", {"heartbeatTimeoutMillis": "abc"}),
        "timeout-absent": ("B166", {"heartbeatTimeoutMillis": None}),
        "timeout-large": ("B166", {"heartbeatTimeoutMillis": "86400000"}),
        "acting-in-capitals": ("B085", {"enableActingMaster": "TRUE"}),
        "acting-as-number": ("B085", {"enableActingMaster": "1"}),
        "compressed-as-number": ("B085", {"compressed": "1"}),
        "compressed-unparsable": ("B085 B129", {"compressed": "True"}),
        "ha-absent": ("B114", {"haServerAddr": None}),
        "zone": ("B157", {"__ZONE_NAME": "z1"}),
        "zone-blank": ("B157", {"__ZONE_NAME": " "}),
        "unknown-fields": ("B013", {"x": "y", "ns": "a", "oway": "true"}),
    }
    for name, (rows, fields) in variants.items():
        slave = register(host=2, broker_id=1)
        yield Scenario(f"field-{name}", rows, (register(**fields), *AFTERWARDS, slave, members()))
    yield Scenario("no-fields", "B082 B141", (Settle(), *_without_fields()))


def _without_fields() -> tuple[Step, ...]:
    names = ("brokerName", "brokerAddr", "clusterName", "brokerId", "haServerAddr")
    nothing: dict[str, Any] = dict.fromkeys(names)
    return (register(**nothing), cluster_info())


def _following() -> Iterator[Scenario]:
    """deleteTopicWithBrokerRegistration."""
    mapping = {own("M"): {"bname": own("a"), "currIdMap": {"0": 0}, "topic": own("M"), "totalQueues": 1}}
    on = configure("deleteTopicWithBrokerRegistration=true")
    yield Scenario(
        "topics-follow-registration",
        "B159 B160",
        (
            on, register(("T", "U", "V")), register(("T", "U")), *routes("V"), register(("T",)), route("U"),
            register((), 2), route(), register(("T", "U"), 3), register(("U",), 3, mapping=mapping), route(),
            register(name="b", host=2), register(("U",), name="b", host=2), *routes("T", "U"),
        ),
    )  # fmt: skip
    keys = {"x": topic("T"), "y": topic("U")}
    swapped = PLAIN.replace(TABLE, dumps(keys))
    yield Scenario("topics-follow-the-keys", "B137 B159", (on, register(body=swapped), register(body=swapped), route()),
                   forms=ONE_FORM)  # fmt: skip


def _filters() -> Iterator[Scenario]:
    yield Scenario(
        "filter-servers",
        "B161 B202",
        (
            register(filters=("f2:1", "f1:1")), *routes("T"), register(filters=None), *routes("T"),
            register(name="b", host=2), *routes("T"), register(name="b", host=2, filters=("g:1",)), *routes("T"),
            register(filters=()), *routes("T"), register(filters=("f3:1",), broker_id=1, host=3), *routes("T"),
        ),
    )  # fmt: skip


SCENARIOS = (*_plain(), *_unreadable(), *_ages(), *_deflated(), *_fields(), *_following(), *_filters())
