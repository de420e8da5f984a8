"""Input of the protocol's tests: any JSON values and texts, mutated valid bytes, and what Java makes of given texts."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from rocketns.protocol.body import register_broker_body
from rocketns.protocol.body.register_broker_body import RegisterBrokerBody, decode_register_broker_body

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1

ints = st.integers(INT_MIN, INT_MAX)
longs = st.integers(LONG_MIN, LONG_MAX)
texts = st.text(max_size=12)  # no lone surrogates, because UTF-8 has none
scalars = st.one_of(st.none(), st.booleans(), longs, st.floats(allow_nan=False, allow_infinity=False), texts)
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)


@st.composite
def json_texts(draw: st.DrawFn, values: st.SearchStrategy[Any] = json_values) -> bytes:
    """A value as some writer would write it: with or without blanks, raw or escaped beyond ASCII."""
    value = draw(values)
    indent = draw(st.sampled_from([None, 0, 2]))
    separators = draw(st.sampled_from([(",", ":"), (", ", " : ")]))
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=indent, separators=separators)
    return text.encode()


@st.composite
def mutated(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Valid bytes: cut, with bytes replaced, with bytes inserted, or unchanged."""
    data = bytearray(draw(whole))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["cut", "replace", "insert"])):
            case "cut":
                del data[at:]
            case "replace":
                data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
            case _:
                data[at:at] = draw(st.one_of(st.binary(max_size=4), st.sampled_from(JSON_BITS)))
    return bytes(data)


# Pieces that lead a parser of lenient JSON into its corners.
JSON_BITS = [
    b'"', b"'", b"{", b"}", b"[", b"]", b":", b",", b"\\", b"\\u", b"\\ud83d", b"\\x4", b"/*", b"*/", b"//", b"\n",
    b"null", b"true", b"nul", b"-", b"+", b".", b"1e", b"1E400", b"0x", b"5:", b"{5:", b"null:", b"L", b"\xff", b"\xed",
]  # fmt: skip

json_like = st.one_of(mutated(json_texts()), st.lists(st.sampled_from(JSON_BITS), max_size=12).map(b"".join))
any_bytes = st.one_of(json_like, st.binary(max_size=60))


# Registrations read by the definition alone: nothing is left to the compiled parser.


def decode_by_definition(body: bytes | None, *, compressed: bool, version: int, now_ms: int) -> RegisterBrokerBody:
    """As the server does, with a parser that declines every body."""
    with patch.object(register_broker_body, "read_compact", return_value=None):
        return decode_register_broker_body(body, compressed=compressed, version=version, now_ms=now_ms)


NOW = 1_795_000_000_000  # the clock of java.txt: a version without timestamp gets it
REFUSED = "refused"


def _java() -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = defaultdict(list)
    section = ""
    for line in Path(__file__).with_name("java.txt").read_text("utf-8").split("\n"):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif line and not line.startswith("#"):
            rows[section].append(ast.literal_eval(line))
    return rows


JAVA = _java()
"""The rows of each section of java.txt."""
