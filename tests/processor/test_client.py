"""Route lookups: readiness, JSON mode by client, order configuration, zones."""

from __future__ import annotations

import pytest

from rocketns.errors import RequestError
from rocketns.processor.client import check_ready
from rocketns.protocol.command import Reply
from tests.processor.asking import START, World

QUOTED, BARE = b'"brokerAddrs":{"0":', b'"brokerAddrs":{0:'


@pytest.mark.parametrize(("topic", "shown"), [("nope", "nope"), ("", ""), (None, "null")])
def test_an_unknown_topic_is_answered_in_two_lines(world: World, topic: str | None, shown: str) -> None:
    """B197."""
    remark = (
        f"No topic route info in name server for the topic: {shown}\n"
        "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
    )
    assert world.ask(105, {"topic": topic}) == Reply(17, remark)
    assert topic is not None or world.ask(105) == Reply(17, remark)


@pytest.mark.parametrize(
    ("version", "flag", "mode"),
    [(513, None, QUOTED), (401, None, QUOTED), (400, None, BARE), (0, None, BARE), (-1, None, BARE),
     (0, "true", QUOTED), (0, "false", BARE)],
)  # fmt: skip
def test_the_client_decides_the_json_mode(world: World, version: int, flag: str | None, mode: bytes) -> None:
    """B198, B199, B200."""
    world.register("T1", "T2")
    reply = world.ask(105, {"topic": "T1", "acceptStandardJsonOnly": flag}, version=version)
    assert (reply.code, reply.remark, reply.ext_fields, mode in (reply.body or b"")) == (0, None, None, True)


@pytest.mark.parametrize(
    ("mode", "zone", "groups", "json_mode"),
    [
        ("true", "z1", 1, BARE),
        ("true", "other", 0, b'"brokerDatas":[]'),
        ("true", " ", 1, QUOTED),
        ("false", "other", 1, QUOTED),
    ],
)
def test_a_zone_filters_the_answer_and_writes_it_anew(
    world: World, mode: str, zone: str, groups: int, json_mode: bytes
) -> None:
    """B211, B212, B214, B215."""
    world.register("T1", "T2", __ZONE_NAME="z1")
    ext = {"topic": "T1", "__ZONE_MODE": mode, "__ZONE_NAME": zone, "acceptStandardJsonOnly": "true"}
    body = world.ask(105, ext).body or b""
    assert (body.count(b'"brokerAddrs"'), json_mode in body) == (groups, True)


def test_the_order_configuration_is_added_where_switched_on(world: World) -> None:
    """B203, B204: read at every request."""
    world.register("T1", "T2")
    world.ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "broker-a:4"})
    assert b"orderTopicConf" not in (world.ask(105, {"topic": "T1"}).body or b"")
    world.configuration.namesrv.order_message_enable = True
    assert b'"orderTopicConf":"broker-a:4"' in (world.ask(105, {"topic": "T1"}).body or b"")
    assert b"orderTopicConf" not in (world.ask(105, {"topic": "T2"}).body or b"")


@pytest.mark.parametrize(
    ("needed", "seconds", "passed_ms", "ready"),
    [
        (False, 45, 0, True),
        (True, 45, 44_999, False),
        (True, 45, 45_000, True),
        (True, 0, 0, True),
        (True, -1, 0, True),
    ],
)
def test_lookups_wait_for_brokers_to_register(
    world: World, needed: bool, seconds: int, passed_ms: int, ready: bool
) -> None:
    """B205, B206."""
    world.configuration.namesrv.need_wait_for_service = needed
    world.configuration.namesrv.wait_seconds_for_service = seconds
    world.now = START._replace(ms=START.ms + passed_ms)
    expected = 17 if ready else 1
    assert world.ask(105, {"topic": "T"}).code == expected
    assert world.ask(106).code == 0
    if not ready:
        with pytest.raises(RequestError, match="name server not ready"):
            check_ready(world.context, world.now)


def test_in_cluster_test_mode_every_request_is_a_lookup(world: World) -> None:
    """B248: always in default mode and with the order configuration."""
    world.register("T1", "T2", __ZONE_NAME="z1")
    world.ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "broker-a:4"})
    world.context.cluster_test = True
    for code in (105, 103, 9999):
        reply = world.ask(code, {"topic": "T1"})
        assert reply.code == 0
        assert BARE in (reply.body or b"")
        assert b'"orderTopicConf":"broker-a:4"' in (reply.body or b"")
        assert world.ask(code, {"topic": "T9"}).code == 17
