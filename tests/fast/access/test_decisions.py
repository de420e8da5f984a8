"""The digests of signed lookups, and the table that remembers them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.wire import JSON, ROCKETMQ, binary_header, frame
from tests.compiled.access import DecisionTable, lookup_digest, siphash128
from tests.fast.access.signed import KEYS, SIGNATURE, signed, signed_binary
from tests.fast.clients import CLIENTS, look_up
from tests.fast.frames import valid_frames

VECTORS = Path(__file__).with_name("siphash128.hex")
DECISIONS_MAX = 65_536  # decisions.pxd
BUCKET_DECISIONS = 4
EXT_BYTES_MAX = 4096


def test_the_digest_is_that_of_the_authors_test_vectors() -> None:
    """siphash128.hex: vectors_sip128 of the reference implementation; the inputs are 0, 1, 2 … of each length."""
    expected = VECTORS.read_text("ascii").split()
    key = bytes(range(16))
    assert [siphash128(bytes(range(length)), key).hex() for length in range(64)] == expected


@pytest.mark.parametrize("place", range(16))
def test_each_byte_of_the_key_counts(place: int) -> None:
    key = bytes(place) + b"\1" + bytes(15 - place)
    assert siphash128(b"data", key) != siphash128(b"data", bytes(16))


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(min_size=16, max_size=16))
def test_only_equal_bytes_have_one_digest(one: bytes, other: bytes, key: bytes) -> None:
    assert (siphash128(one, key) == siphash128(other, key)) == (one == other)


def test_what_the_decision_does_not_depend_on_changes_no_digest() -> None:
    digest = lookup_digest(signed("T"), KEYS)
    assert digest is not None
    for same in (signed("T", opaque=-1), signed("T", version=317), signed("T", language="GO")):
        assert lookup_digest(same, KEYS) == digest


def test_what_the_decision_depends_on_changes_the_digest() -> None:
    others = [
        signed("T"), signed("U"), signed("T", signature="kKm0P8pT3+u4/1c!"), signed("T", key="rocketmq3"),
        signed("T", more={"x": "y"}), signed_binary("T"), signed_binary("U"),
    ]  # fmt: skip
    digests = {lookup_digest(one, KEYS) for one in others}
    assert len(digests) == len(others)
    assert None not in digests


def test_the_same_bytes_in_two_forms_of_header_have_two_digests() -> None:
    """Both forms have a key of their own."""
    assert lookup_digest(signed("T"), KEYS) != lookup_digest(signed("T"), KEYS[16:] + KEYS[:16])
    assert lookup_digest(signed_binary("T"), KEYS) == lookup_digest(signed_binary("T"), KEYS[16:] + KEYS[16:])


@pytest.mark.parametrize("whole", [
    look_up(CLIENTS[0]),
    signed("T", signature=""),
    signed("T", body=b"x"),
    signed("T", more={"x": "y" * EXT_BYTES_MAX}),
    signed_binary("T", body=b"x"),
    frame(binary_header(105, {"topic": "T"}), b"", ROCKETMQ),
], ids=["unsigned", "empty signature", "body", "large", "binary body", "binary unsigned"])  # fmt: skip
def test_a_lookup_that_control_has_to_see_has_no_digest(whole: bytes) -> None:
    assert lookup_digest(whole, KEYS) is None


@given(valid_frames, st.sampled_from(["T", "U", "%RETRY%g"]), st.text("aZ+/=", min_size=16, max_size=16))
def test_a_lookup_that_follows_a_layout_has_the_digest_of_its_own_bytes(
    whole: bytes, topic: str, signature: str
) -> None:
    """Topic and signature differ from those that the layout was learnt from."""
    learnt = signed("T")
    for one in (whole, signed_binary(topic), signed(topic, signature=signature, body=b"x")):
        assert lookup_digest(one, KEYS, learnt) in (None, lookup_digest(one, KEYS))
    for one in (signed(topic, signature=signature), signed(topic, signature=signature, opaque=-1)):
        assert lookup_digest(one, KEYS, learnt) == lookup_digest(one, KEYS) is not None


@pytest.mark.parametrize(
    "signature", ['kKm0P8pT3+u4/1c"', "kKm0P8pT3+u4/1\\u", "kKm0P8pT3+u4/1cÜ", "kKm0P8pT3+u4/1", ""]
)
def test_another_signature_in_its_place_follows_no_layout(signature: str) -> None:
    """One that needs escaping, and ones of other lengths."""
    assert lookup_digest(signed("T", signature=signature), KEYS, signed("T")) is None


def test_a_quote_in_the_place_of_a_signature_ends_no_text() -> None:
    """As many bytes as a signature has, with another field among them: the decision would be about other fields."""
    learnt = signed("T")
    planted = learnt.replace(SIGNATURE.encode(), b'x","AccessKey":"')
    assert len(planted) == len(learnt)
    assert lookup_digest(planted, KEYS, learnt) is None


def test_what_is_remembered_is_found_and_nothing_else() -> None:
    table, digests = DecisionTable(), [os.urandom(16) for _ in range(1_000)]
    for digest in digests[:500]:
        table.remember(digest)
    assert all(digest in table for digest in digests[:500])
    assert not any(digest in table for digest in digests[500:])


@pytest.mark.parametrize("half", [slice(0, 8), slice(8, 16)])
def test_half_of_a_digest_is_not_enough(half: slice) -> None:
    table, digest = DecisionTable(), bytes(range(1, 17))
    table.remember(digest)
    other = bytearray(digest)
    other[half] = bytes(8)
    assert bytes(other) not in table


def test_a_full_bucket_replaces_one_and_remembers_the_new_one() -> None:
    table, mates = DecisionTable(), [b"\4" + bytes(7) + bytes([number]) * 8 for number in range(1, 9)]
    for mate in mates:
        table.remember(mate)
        assert mate in table
    assert sum(mate in table for mate in mates) == BUCKET_DECISIONS


def test_remembering_twice_takes_one_place() -> None:
    table, mates = DecisionTable(), [b"\4" + bytes(7) + bytes([number]) * 8 for number in range(1, 5)]
    for mate in [*mates, *mates]:
        table.remember(mate)
    assert all(mate in table for mate in mates)


def test_a_full_table_still_remembers_what_came_last() -> None:
    """Random digests: four times as many as have room."""
    table, digests = DecisionTable(), [os.urandom(16) for _ in range(4 * DECISIONS_MAX)]
    for digest in digests:
        table.remember(digest)
    kept = sum(digest in table for digest in digests)
    assert DECISIONS_MAX * 0.9 < kept <= DECISIONS_MAX
    assert digests[-1] in table


def test_an_empty_table_has_nothing() -> None:
    assert os.urandom(16) not in DecisionTable()


def test_a_frame_of_another_form_is_not_digested_as_json() -> None:
    assert lookup_digest(frame(signed("T")[8:], b"", JSON), KEYS) == lookup_digest(signed("T"), KEYS)
    assert lookup_digest(frame(signed("T")[8:], b"", ROCKETMQ), KEYS) is None
