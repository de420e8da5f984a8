"""Request headers from extFields: nothing is refused, and a value that does not parse counts as missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.protocol import headers
from rocketns.protocol.codes import ZONE_MODE, ZONE_NAME
from rocketns.protocol.command import RemotingCommand
from rocketns.protocol.headers import (
    BrokerAddressRequestHeader,
    GetRouteInfoRequestHeader,
    GetTopicsByClusterRequestHeader,
    KVConfigRequestHeader,
    RegisterBrokerRequestHeader,
    TopicRequestHeader,
    decode_header,
    requested_zone,
)
from tests.protocol.strategies import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN, ints, longs

KINDS = [kind for name, kind in vars(headers).items() if name.endswith("RequestHeader")]


@dataclass
class Odd:
    """A header with a field of a type that no header of Java's has."""

    share: float = 0.0


def request(ext: dict[str, str | None] | None) -> RemotingCommand:
    return RemotingCommand(0, 513, 1, 0, ext, None)


def test_a_field_of_a_type_without_a_parser_is_refused_even_if_a_request_lacks_it() -> None:
    with pytest.raises(KeyError, match="float"):
        decode_header(request({}), Odd)


def test_fields_are_found_under_javas_names() -> None:
    ext: dict[str, str | None] = {
        "brokerName": "b", "brokerAddr": "a:1", "clusterName": "c", "haServerAddr": "h:1", "brokerId": "-3",
        "heartbeatTimeoutMillis": "6500", "enableActingMaster": "true", "compressed": "TRUE", "bodyCrc32": "7",
        "ignored": "x",
    }  # fmt: skip
    expected = RegisterBrokerRequestHeader("b", "a:1", "c", "h:1", -3, 6500, True, True, 7)
    assert decode_header(request(ext), RegisterBrokerRequestHeader) == expected
    kv: dict[str, str | None] = {"namespace": "n", "key": "k", "value": ""}
    assert decode_header(request(kv), KVConfigRequestHeader) == KVConfigRequestHeader("n", "k", "")
    route: dict[str, str | None] = {"topic": "T", "acceptStandardJsonOnly": "True"}
    assert decode_header(request(route), GetRouteInfoRequestHeader) == GetRouteInfoRequestHeader("T", True)
    topic: dict[str, str | None] = {"topic": "T", "clusterName": "c"}
    assert decode_header(request(topic), TopicRequestHeader) == TopicRequestHeader("T", "c")
    cluster = decode_header(request({"cluster": "c"}), GetTopicsByClusterRequestHeader)
    assert cluster == GetTopicsByClusterRequestHeader("c")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("ext", [None, {}, {"topic": None, "brokerId": None, "brokerName": None}], ids=str)
def test_missing_fields_keep_their_defaults(kind: Any, ext: dict[str, str | None] | None) -> None:
    """B082, B083: without extFields and with missing ones."""
    assert decode_header(request(ext), kind) == kind()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0), ("+5", 5), ("-0", 0), ("007", 7), ("0" * 5000 + "7", 7), (str(LONG_MAX), LONG_MAX),
        (str(LONG_MIN), LONG_MIN), (str(LONG_MAX + 1), None), (str(LONG_MIN - 1), None), ("9" * 5000, None), ("", None),
        (" 5", None), ("5 ", None), ("5\n", None), ("+", None), ("-", None), ("--5", None), ("5.0", None),
        ("1e2", None), ("0x5", None), ("5L", None), ("1_000", None), ("five", None), ("null", None),
    ],
)  # fmt: skip
def test_a_long_that_does_not_parse_is_missing(text: str, number: int | None) -> None:
    """B084, B166: Long.parseLong."""
    assert decode_header(request({"brokerId": text}), BrokerAddressRequestHeader).broker_id == number


@pytest.mark.parametrize(
    ("text", "number"),
    [(str(INT_MAX), INT_MAX), (str(INT_MIN), INT_MIN), (str(INT_MAX + 1), 0), (str(INT_MIN - 1), 0), ("x", 0)],
)
def test_an_int_that_does_not_parse_is_missing(text: str, number: int) -> None:
    """B084, B120: Integer.parseInt."""
    assert decode_header(request({"bodyCrc32": text}), RegisterBrokerRequestHeader).body_crc32 == number


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("TRUE", True), ("tRuE", True), ("false", False), ("", False), (" true", False), ("1", False)],
)
def test_a_boolean_is_true_only_by_its_word(text: str, value: bool) -> None:
    """B085."""
    header = decode_header(request({"enableActingMaster": text, "compressed": text}), RegisterBrokerRequestHeader)
    assert (header.enable_acting_master, header.compressed) == (value, value)


@pytest.mark.parametrize(
    ("mode", "name", "zone"),
    [
        ("true", "z1", "z1"), ("TRUE", " z1 ", " z1 "), ("true", "", None), ("true", " \t", None), ("true", None, None),
        ("false", "z1", None), (None, "z1", None), ("1", "z1", None),
    ],
)  # fmt: skip
def test_a_zone_is_asked_for_by_mode_and_name(mode: str | None, name: str | None, zone: str | None) -> None:
    """B211, B214."""
    assert requested_zone(request({ZONE_MODE: mode, ZONE_NAME: name})) == zone
    assert requested_zone(request(None)) is None


field_names = st.sampled_from(sorted({java for kind in KINDS for _, java, _ in headers._readers(kind)}))
field_texts = st.one_of(
    st.none(), st.text(max_size=8), longs.map(str), ints.map(str), st.text("+-0123456789 ", max_size=30)
)


@given(st.none() | st.dictionaries(field_names, field_texts), st.sampled_from(KINDS))
def test_any_fields_make_a_header(ext: dict[str, str | None] | None, kind: Any) -> None:
    header = decode_header(request(ext), kind)
    for name, _, _ in headers._readers(kind):
        value = getattr(header, name)
        assert value is None or isinstance(value, str | bool) or LONG_MIN <= value <= LONG_MAX
