"""Lookups and similar frames for property tests: any members, fields, versions and flags; cut, mutated, hostile."""

from __future__ import annotations

import json
import struct
from typing import Any

from hypothesis import strategies as st

from interop.harness.wire import JSON, ROCKETMQ, frame
from tests.fast.clients import CLIENTS, GET_ROUTE, look_up
from tests.protocol.strategies import INT_MAX, INT_MIN, json_values, mutated, texts

TOPICS = ["T1", "T2", "T3", "rmq_sys_SYNC_BROKER_MEMBER_ba", "%RETRY%g", "nobody's"]
ODD_TOPICS = ["", " ", "Ü", 'T"1', "T\\1", "T\x01", "T\x7f", "T" * 1024, "T" * 1025]

topics = st.one_of(st.sampled_from(TOPICS), st.sampled_from(TOPICS), st.sampled_from(ODD_TOPICS), texts)
versions = st.one_of(st.sampled_from([-1, 0, 49, 121, 317, 399, 400, 401, 402, 513, 32767]), st.integers(-9, 600))
opaques = st.one_of(st.integers(INT_MIN, INT_MAX), st.sampled_from([0, -1, INT_MIN, INT_MAX]))
flags = st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4, -1])
codes = st.sampled_from([GET_ROUTE] * 8 + [0, 106, 103, -105])
fields = st.dictionaries(
    st.one_of(st.sampled_from(["Signature", "AccessKey", "lo", "ns", "bname", "", "Topic", "topic "]), texts),
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
odd_values = st.one_of(odd_numbers, st.builds(json.dumps, json_values))


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
            members = [*members, ("unknown", draw(odd_values))]
        else:
            odd = (members[at][0], draw(odd_values))
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
