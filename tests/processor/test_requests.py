"""The table of requests: what it says of each code is what its processor does."""

from __future__ import annotations

import pytest

from interop.harness.payloads import data_version, dumps, register_body, register_ext, topic_config
from rocketns.access.classes import Access
from rocketns.processor.context import Now
from rocketns.processor.requests import REQUESTS, check_rows, request_of
from tests.processor.asking import World

WRITABLE, READ_ONLY = topic_config("T1"), topic_config("T2", perm=4)
BODIES = {
    103: register_body([WRITABLE, topic_config("New")], data_version(2)),
    217: dumps({"queueDatas": [{"brokerName": "broker-a", "perm": 6, "readQueueNums": 8, "writeQueueNums": 8}]}),
    318: b"orderMessageEnable=true",
    322: dumps(data_version(2)),
}
CLASSES = {
    Access.LOOKUP: {105},
    Access.READ: {101, 106, 206, 219, 304, 21070},
    Access.SCAN: {224, 311, 312, 313},
    Access.CONFIG: {319},
    Access.BROKER: {103, 104, 217, 322, 901, 904},
    Access.ADMIN: {100, 102, 205, 216, 318, 327},
}


def test_each_code_has_the_class_of_those_who_need_it() -> None:
    assert {access: {code for code, row in REQUESTS.items() if row.access is access} for access in CLASSES} == CLASSES
    assert request_of(905).access is request_of(9999).access is Access.OFF


def test_a_code_without_a_row_fails_at_import() -> None:
    with pytest.raises(LookupError, match="GET_KV_CONFIG"):
        check_rows(REQUESTS.keys() - {101})
    with pytest.raises(LookupError, match="NOTIFY_MIN_BROKER_ID_CHANGE"):
        check_rows(REQUESTS.keys() | {905})


@pytest.mark.parametrize("code", sorted(REQUESTS))
def test_a_request_that_succeeds_changes_something_or_has_no_effect(world: World, code: int) -> None:
    body = register_body([WRITABLE, READ_ONLY])
    assert world.ask(103, register_ext(body=body), body).code == 0
    known = {"namespace": "n", "key": "k", "value": "v", "cluster": "C1"}
    assert world.ask(100, known).code == 0
    world.now = Now(world.now.ms + 1, world.now.epoch_ms + 1)
    before = world.state()
    fields = register_ext(body=BODIES.get(code, b""), topic="New" if code == 217 else "T1")
    reply = world.ask(code, fields | known | {"value": "other"}, BODIES.get(code))
    assert reply.code == (3 if code == 21070 else 0), reply.remark  # this world computes no digests
    assert (world.state() != before) is REQUESTS[code].has_effect
