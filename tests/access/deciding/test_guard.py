"""What the guard says of who sent a request, for the records of it."""

from __future__ import annotations

import gc
import weakref

import pytest

from rocketns.access.classes import Access
from rocketns.access.guard import Guard, Verdict
from rocketns.access.policy import OPEN
from rocketns.access.reading.policy_file import read_policy
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.command import RemotingCommand
from tests.access.signing import signed
from tests.processor.asking import Connection

POLICY = """
    [modes]
    admin = "{mode}"
    [principals.fleet]
    networks = ["10.9.9.0/24"]
    may = ["admin"]
    [principals.operator]
    keys = ["rocketmq"]
    may = ["admin"]
    [keys.rocketmq]
    secret = "12345678"
"""
WIPE = {"brokerName": "b"}


def judged(mode: str, fields: dict[str, str], host: str) -> Verdict:
    guard = Guard(read_policy("access.toml", POLICY.format(mode=mode), lambda _: ""))
    request = RemotingCommand(RequestCode.WIPE_WRITE_PERM_OF_BROKER, 513, 1, 0, dict(fields), None)
    return guard.ask(Connection(f"{host}:1", host=host), request, Access.ADMIN, 0)


@pytest.mark.parametrize(("mode", "host"), [("observe", "192.0.2.1"), ("enforce", "10.9.9.9"), ("observe", "10.9.9.9")])
@pytest.mark.parametrize("key", ["rocketmq", "x" * 100_000])
def test_a_key_that_a_signature_does_not_prove_is_not_the_sender(mode: str, host: str, key: str) -> None:
    """Any peer may name any key. Whoever is let pass would be told as the owner of that key."""
    verdict = judged(mode, signed(WIPE, key=key, secret="another one"), host)
    assert (verdict.error, verdict.access_key) == (None, None)


def test_a_refusal_names_the_key_that_was_claimed() -> None:
    event = judged("enforce", signed(WIPE, secret="another one"), "192.0.2.1").event
    assert event is not None
    assert (event.access_key, event.reason) == ("rocketmq", "wrong_signature")


def test_the_key_of_a_right_signature_is_the_sender() -> None:
    verdict = judged("enforce", signed(WIPE), "192.0.2.1")
    assert (verdict.error, verdict.principal, verdict.access_key) == (None, "operator", "rocketmq")


def test_a_policy_that_ended_is_not_kept_by_connections() -> None:
    """It has the secrets of keys that may have been revoked. A client may stay for days without asking control."""
    guard, peer = Guard(read_policy("access.toml", POLICY.format(mode="enforce"), lambda _: "")), Connection()
    request = RemotingCommand(RequestCode.WIPE_WRITE_PERM_OF_BROKER, 513, 1, 0, signed(WIPE), None)
    assert guard.ask(peer, request, Access.ADMIN, 0).error is None
    ended = weakref.ref(guard.policy)
    guard.follow(OPEN)
    gc.collect()
    assert ended() is None
