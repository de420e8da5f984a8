"""What signs this process' own requests gives the signatures that RocketMQ's classes give, and hides its secret."""

from __future__ import annotations

import pytest

from rocketns.access.signing.key_signer import KeySigner
from rocketns.access.signing.secret import Secret
from rocketns.access.signing.signature import SIGNATURE, Signed, check
from rocketns.protocol.command import RemotingCommand
from tests.access.vectors import KEY, SECRET, VECTORS, Vector

WITHOUT_BODY = [one for one in VECTORS if one.body is None and one.key == KEY and one.worth is Signed.RIGHT]
COVERED = [one for one in WITHOUT_BODY if "added after" not in one.name]


@pytest.mark.parametrize("vector", COVERED, ids=lambda one: one.name)
def test_it_signs_as_rocketmq_does(vector: Vector) -> None:
    fields = dict(vector.fields)
    token = fields.pop("SecurityToken", None) or ""
    assert KeySigner(KEY, Secret(SECRET), token).signed(fields)[SIGNATURE] == vector.signature


def test_a_verifier_takes_what_it_signed() -> None:
    fields = KeySigner(KEY, Secret(SECRET), "tok").signed({"topic": "订单", "none": None})
    assert check(RemotingCommand(105, 513, 1, 0, fields, None), {KEY: Secret(SECRET)}) is Signed.RIGHT


def test_it_does_not_show_the_secret() -> None:
    signer = KeySigner(KEY, Secret(SECRET))
    assert SECRET not in repr(signer) + repr(signer.signed({})) + repr(signer._secret)
