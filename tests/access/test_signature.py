"""Signatures: what RocketMQ's own classes signed is right, anything else is not, and no secret shows itself."""

from __future__ import annotations

import base64
import hashlib
import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns.access.signature import ACCESS_KEY, SIGNATURE, KeySigner, Secret, Signed, access_key_of, check
from rocketns.protocol.command import RemotingCommand
from tests.access.signing import KEY, SECRET, VECTORS, Vector

SECRETS = {KEY: Secret(SECRET), "rocketmq2": Secret(SECRET)}
ZONES = ("__ZONE_NAME", "__ZONE_MODE")
BLOCK_BYTES = 64  # of SHA-1

Fields = dict[str, str | None]


def request(fields: Fields | None, body: bytes | None = None, code: int = 105) -> RemotingCommand:
    return RemotingCommand(code, 513, 1, 0, fields, body)


def signed(vector: Vector) -> RemotingCommand:
    keys: Fields = {ACCESS_KEY: vector.key, SIGNATURE: vector.signature}
    return request(keys | vector.fields, vector.body, vector.code)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector.name for vector in VECTORS])
def test_what_rocketmq_signed_is_worth_what_it_says(vector: Vector) -> None:
    assert check(signed(vector), SECRETS) is vector.worth


@pytest.mark.parametrize("fields", [None, {}, {ACCESS_KEY: ""}, {ACCESS_KEY: None}, {SIGNATURE: "x"}])
def test_without_an_access_key_a_request_is_not_signed(fields: Fields | None) -> None:
    assert check(request(fields), SECRETS) is Signed.NOT
    assert access_key_of(request(fields)) is None


def test_an_unknown_key_is_told_from_a_wrong_signature() -> None:
    assert check(request({ACCESS_KEY: "nobody", SIGNATURE: "x"}), SECRETS) is Signed.UNKNOWN_KEY
    assert check(request({ACCESS_KEY: KEY, SIGNATURE: "x"}), SECRETS) is Signed.WRONG


def test_a_secret_does_not_show_itself() -> None:
    secret = Secret(SECRET)
    assert SECRET not in repr(secret) + str(secret) + f"{secret!a}" + repr({KEY: secret})
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(secret)


def independent(fields: Fields, body: bytes, secret: str, without: tuple[str, ...] = ()) -> str:
    """The signature by RocketMQ's rules, with the MAC in its own steps: H(K ^ opad, H(K ^ ipad, text))."""
    covered = {name: value or "" for name, value in fields.items() if name != SIGNATURE and name not in without}
    text = "".join(covered[name] for name in sorted(covered, key=units_of)).encode() + body
    key = hashlib.sha1(secret.encode()).digest() if len(secret.encode()) > BLOCK_BYTES else secret.encode()
    key = key.ljust(BLOCK_BYTES, b"\0")
    inner = hashlib.sha1(bytes(one ^ 0x36 for one in key) + text).digest()
    return base64.b64encode(hashlib.sha1(bytes(one ^ 0x5C for one in key) + inner).digest()).decode()


def units_of(name: str) -> list[int]:
    """The units of UTF-16, by which Java orders texts."""
    units: list[int] = []
    for point in map(ord, name):
        units += [point] if point < 0x10000 else [0xD800 + (point - 0x10000 >> 10), 0xDC00 + (point & 0x3FF)]
    return units


names = st.one_of(st.sampled_from(["topic", "brokerName", "OnsChannel", "ns", "_", "a", "B", *ZONES]), st.text())
fields_of = st.dictionaries(names.filter(lambda name: name not in (ACCESS_KEY, SIGNATURE)), st.none() | st.text())
bodies = st.none() | st.binary(min_size=1)
secrets = st.text(min_size=1, max_size=100)


@given(fields_of, bodies, secrets)
@example({"\uffff": "b", "\U00010000": "a"}, None, SECRET)  # their order is not that of code points
@example({"Z": "1", "_": "2", "a": "3"}, None, "é" * 40)
def test_an_independent_signature_is_right(fields: Fields, body: bytes | None, secret: str) -> None:
    fields = {**fields, ACCESS_KEY: KEY}
    fields[SIGNATURE] = independent(fields, body or b"", secret)
    assert check(request(fields, body), {KEY: Secret(secret)}) is Signed.RIGHT


@given(fields_of, bodies, st.sets(st.sampled_from(ZONES), min_size=1))
def test_zones_added_after_signing_are_not_covered(fields: Fields, body: bytes | None, zones: set[str]) -> None:
    fields = {**fields, ACCESS_KEY: KEY} | dict.fromkeys(zones, "z1")
    fields[SIGNATURE] = independent(fields, body or b"", SECRET, ZONES)
    assert check(request(fields, body), SECRETS) is Signed.RIGHT


@given(fields_of, bodies, st.data())
def test_a_changed_request_is_not_what_was_signed(fields: Fields, body: bytes | None, data: st.DataObject) -> None:
    """Whatever is received is right exactly if one of the two sets of fields gives the signature."""
    fields = {**fields, ACCESS_KEY: KEY}
    signature = independent(fields, body or b"", SECRET)
    received = {**fields, **data.draw(fields_of), SIGNATURE: signature}
    other_body = data.draw(st.just(body) | bodies)
    rights = [independent(received, other_body or b"", SECRET)]
    if not received.keys().isdisjoint(ZONES):
        rights.append(independent(received, other_body or b"", SECRET, ZONES))
    expected = Signed.RIGHT if signature in rights else Signed.WRONG
    assert check(request(received, other_body), SECRETS) is expected


@given(st.dictionaries(st.text(), st.none() | st.text()), bodies)
def test_any_fields_are_judged_without_an_error(fields: Fields, body: bytes | None) -> None:
    for key in ({}, {ACCESS_KEY: KEY}, {ACCESS_KEY: KEY, SIGNATURE: "\ud800"}, {ACCESS_KEY: "\udfff"}):
        assert check(request({**fields, "\ud800": "\udc00", **key}, body), SECRETS) is not Signed.RIGHT


# What signs this process' own requests gives the signatures that RocketMQ's classes give, and hides its secret.

WITHOUT_BODY = [one for one in VECTORS if one.body is None and one.key == KEY and one.worth is Signed.RIGHT]
COVERED = [one for one in WITHOUT_BODY if "added after" not in one.name]


@pytest.mark.parametrize("vector", COVERED, ids=lambda one: one.name)
def test_it_signs_as_rocketmq_does(vector: Vector) -> None:
    fields = dict(vector.fields)
    token = fields.pop("SecurityToken", None) or ""
    assert KeySigner(KEY, Secret(SECRET), token).signed(fields)[SIGNATURE] == vector.signature
