"""Requests of brokers: registration, unregistration, versions, heartbeats, member group."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from interop.harness.payloads import (
    compressed_body,
    data_version,
    dumps,
    register_body,
    register_ext,
    topic_config,
    wrapper,
)
from rocketns.processor import broker
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.command import Reply
from rocketns.routeinfo.events import BrokerRegistered, Cause, TopicsPut
from rocketns.routeinfo.tables import RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest
from tests.processor.asking import START, World, crc

KEY = {"clusterName": "C1", "brokerAddr": "10.0.0.1:10911"}
TWO = register_body([topic_config("T1"), topic_config("T2")])


def test_a_registration_is_applied_and_told(world: World) -> None:
    """B109, B166."""
    body = TWO
    ext = register_ext(body=body, heartbeatTimeoutMillis=6_500, __ZONE_NAME="z1", enableActingMaster="true")
    assert world.ask(103, ext, body) == Reply(ext_fields={"haServerAddr": None, "masterAddr": None})
    (entry,) = world.context.tables.broker_live_table.values()
    assert (entry.last_update_ms, entry.timeout_ms, entry.channel) == (world.now.ms, 6_500, world.peer)
    group = world.context.tables.broker_addr_table["broker-a"]
    assert (group.zone_name, group.enable_acting_master) == ("z1", True)
    assert [type(event) for event in world.context.take_events()] == [TopicsPut, BrokerRegistered]
    assert world.context.take_events() == []


@pytest.mark.parametrize(("crc32", "body"), [(1, TWO), (crc(TWO) - 2**31, TWO), (1, None), (-1, TWO)])
def test_a_wrong_checksum_changes_nothing(world: World, crc32: int, body: bytes | None) -> None:
    """B121."""
    assert world.ask(103, register_ext() | {"bodyCrc32": crc32}, body) == Reply(1, "crc32 not match", {})
    assert world.context.tables == RouteTables()


@pytest.mark.parametrize("version", [36, 0])
def test_brokers_before_3_0_11_send_the_bare_wrapper(world: World, version: int) -> None:
    """B122: whether compressed or not is not asked, and filter servers are left alone."""
    world.ask(103, register_ext(), register_body([topic_config("T1"), topic_config("T2")], filters=["f:1"]))
    body = dumps(wrapper([topic_config("T3"), topic_config("T4")], data_version(2)))
    assert world.ask(103, register_ext(body=body, compressed="true"), body, version=version).code == 0
    assert world.context.tables.topic_queue_table.keys() == {"T1", "T2", "T3", "T4"}
    assert list(world.context.tables.filter_server_table.values()) == [["f:1"]]


@pytest.mark.parametrize("version", [37, 513, 612, 613, 2**31 - 1])
def test_later_brokers_send_a_whole_body(world: World, version: int) -> None:
    """B123, B124."""
    assert world.register("T1", "T2", version=version).code == 0
    assert world.context.tables.topic_queue_table.keys() == {"T1", "T2"}


@pytest.mark.parametrize("version", [-1, -(2**31)])
def test_a_negative_version_is_no_version(world: World, version: int) -> None:
    """B125."""
    reply = world.register("T1", "T2", version=version)
    assert (reply.code, bool(reply.remark), reply.ext_fields) == (1, True, None)
    assert world.context.tables == RouteTables()


def test_the_version_decides_whether_a_compressed_body_has_mappings(world: World) -> None:
    """B127, B128."""
    body = compressed_body([topic_config("T1"), topic_config("T2")], mapping=None)
    ext = register_ext(body=body, compressed="true")
    assert world.ask(103, ext, body, version=413).code == 1
    assert world.ask(103, ext, body, version=412).code == 0
    assert world.ask(103, ext | {"compressed": "false"}, body, version=412).code == 1  # B130


@pytest.mark.parametrize("broker_id", [None, "x", ""])
def test_a_registration_without_an_id_is_ignored(world: World, broker_id: str | None) -> None:
    """B141: but only after the body was read."""
    ext = register_ext(body=TWO) | {"brokerId": broker_id}
    assert world.ask(103, ext, TWO).code == world.ask(103, None, TWO).code == 1
    assert "Failed to decode" in str(world.ask(103, ext | {"bodyCrc32": 0}, b"x").remark)
    assert world.context.tables == RouteTables()


def test_brokers_are_told_the_ordered_topics(world: World) -> None:
    """B116, B117, B118, B119."""
    assert world.register("T1", "T2").body is None
    world.ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "TO", "value": "broker-a:4"})
    assert world.register("T1", "T2").body == b'{"table":{"TO":"broker-a:4"}}'
    world.ask(102, {"namespace": "ORDER_TOPIC_CONFIG", "key": "TO"})
    assert world.register("T1", "T2").body == b'{"table":{}}'
    world.configuration.namesrv.return_order_topic_config_to_broker = False
    assert world.register("T1", "T2").body is None


def test_an_unregistration_waits_in_its_queue(world: World) -> None:
    """B178, B179: answered at once, whatever it says."""
    world.register("T1", "T2")
    assert world.ask(104, KEY | {"brokerName": "broker-a", "brokerId": "0"}) == Reply()
    assert world.ask(104) == world.ask(104, {"brokerId": "x"}) == Reply()
    assert world.context.tables.topic_queue_table.keys() == {"T1", "T2"}
    first, *others = world.context.unregister_queue.take_all()
    assert first == UnregisterRequest("C1", "10.0.0.1:10911", "broker-a", 0, Cause.UNREGISTER)
    assert others == [UnregisterRequest(None, None, None, None, Cause.UNREGISTER)] * 2
    assert world.context.unregister_queue.take_all() == []


def test_a_full_queue_is_an_error_without_a_remark(tmp_path: Path) -> None:
    """B184."""
    world = World(tmp_path, queue_capacity=2)
    assert [world.ask(104, KEY).code for _ in range(3)] == [0, 0, 1]
    assert world.ask(104, KEY) == Reply(1, None, None)
    world.context.unregister_queue.take_all()
    assert world.ask(104, KEY).code == 0


def test_a_version_is_compared_with_the_stored_one(world: World) -> None:
    """B168, B169, B170, B171."""
    stored = b'{"counter":1,"stateVersion":0,"timestamp":1700000000000}'
    same = dumps(data_version(1))
    assert world.ask(322, KEY, same) == Reply(ext_fields={"changed": "true"})
    world.register("T1", "T2")
    assert world.ask(322, KEY, same) == Reply(ext_fields={"changed": "false"}, body=stored)
    for other in (data_version(2), data_version(1, 5), data_version(1, state=1)):
        assert world.ask(322, KEY, dumps(other)) == Reply(ext_fields={"changed": "true"}, body=stored)
    for nothing in (None, b"null"):
        assert world.ask(322, KEY, nothing) == Reply(ext_fields={"changed": "true"}, body=stored)
    assert world.ask(322, KEY | {"brokerName": "x", "brokerId": "x"}, same).ext_fields == {"changed": "false"}
    assert world.ask(322, KEY | {"clusterName": "C2"}, same) == Reply(ext_fields={"changed": "true"})


def test_a_version_that_is_not_known_is_not_told(world: World) -> None:
    """B140."""
    body = dumps({"topicConfigSerializeWrapper": {"dataVersion": None, "topicConfigTable": {}}})
    world.ask(103, register_ext(body=body), body)
    assert world.ask(322, KEY, b"null") == Reply(ext_fields={"changed": "true"})


@pytest.mark.parametrize("code", [322, 904])
def test_a_heartbeat_refreshes_who_is_known(world: World, code: int) -> None:
    """B173, B174, B176."""
    world.register("T1", "T2")
    registered = world.now
    for ext, refreshed in ((KEY | {"clusterName": "C2"}, False), (KEY | {"brokerAddr": "x"}, False), (KEY, True)):
        world.now = world.now._replace(ms=world.now.ms + 7)
        assert world.ask(code, ext).code == 0
        (entry,) = world.context.tables.broker_live_table.values()
        assert entry.last_update_ms == (world.now.ms if refreshed else registered.ms)


@pytest.mark.parametrize("code", [322, 904])
@pytest.mark.parametrize("missing", ["clusterName", "brokerAddr"])
def test_a_heartbeat_of_nobody_is_an_error(world: World, code: int, missing: str) -> None:
    """B172, B175."""
    reply = world.ask(code, KEY | {missing: None})
    assert (reply.code, bool(reply.remark), reply.ext_fields) == (1, True, None)


def test_a_member_group_is_told_with_a_strange_remark(world: World) -> None:
    """B217, B218."""
    world.register("T1", "T2")
    known = world.ask(901, {"clusterName": "any", "brokerName": "broker-a"})
    body = b'{"brokerMemberGroup":{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"any"}}'
    assert known == Reply(remark="not set any response code", body=body)
    unknown = world.ask(901, {"brokerName": "x"})
    assert unknown.body == b'{"brokerMemberGroup":{"brokerAddrs":{},"brokerName":"x"}}'


def test_a_topic_is_registered_alone(world: World) -> None:
    """B225, B229."""
    world.register("T1", "T2")
    body = dumps({"queueDatas": [{"brokerName": "broker-a", "perm": 6, "readQueueNums": 1, "writeQueueNums": 2}]})
    assert world.ask(217, {"topic": "T9"}, body) == Reply()
    assert world.context.tables.topic_queue_table["T9"]["broker-a"] == (1, 2, 6, 0)
    reply = world.ask(217, {"topic": "T8"}, b"{")
    assert (reply.code, str(reply.remark).startswith("com.alibaba.fastjson2.JSONException: ")) == (1, True)


# Registrations with the moving time stamp of a 5.x broker are recognised, and have the effect of their bodies.

NOW_MS = START.epoch_ms
CHANGED_MS = NOW_MS - 1_000_000  # when the broker last changed a topic
REFUSED = "crc32 not match"


def plain(stamp: int = NOW_MS, *, counter: int = 1, names: tuple[str, ...] = ("T1", "T2"), **more: Any) -> bytes:
    """The body of a 5.5.0 broker; ``more`` are members of the wrapper in front of its own."""
    own = {
        "dataVersion": data_version(counter, CHANGED_MS),
        "mappingDataVersion": {"counter": 0, "stateVersion": 0, "timestamp": stamp},
        "topicConfigTable": {name: topic_config(name) for name in names},
        "topicQueueMappingDetailMap": {},
        "topicQueueMappingInfoMap": {},
    }
    return dumps({"filterServerList": [], "topicConfigSerializeWrapper": more | own})


def register(world: World, body: bytes, **ext: Any) -> Reply:
    return world.ask(RequestCode.REGISTER_BROKER, register_ext(body=body, **ext), body)


def counts(world: World) -> tuple[int, int]:
    return world.context.registrations.total, world.context.registrations.repeated


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_body_with_a_later_stamp_is_a_repeated_one(world: World) -> None:
    """B147: also with the CRC in the header, which differs because the stamp does."""
    for periods in range(3):
        assert register(world, plain(NOW_MS + 30_000 * periods)).code == 0
    assert counts(world) == (3, 2)


def test_a_repeated_compressed_body_is_a_repeated_one(world: World) -> None:
    """B147: it has no time stamp of its own."""
    for _ in range(3):
        body = compressed_body([topic_config("T1"), topic_config("T2")], data_version(1, CHANGED_MS))
        assert register(world, body, compressed="true").code == 0
    assert counts(world) == (3, 2)


def test_the_crc_of_a_repeated_body_is_checked(world: World) -> None:
    """B121: with a stamp of its own and without."""
    register(world, plain())
    for stamp in (NOW_MS, NOW_MS + 30_000):
        reply = register(world, plain(stamp), bodyCrc32=str(crc(plain(stamp)) ^ 1))
        assert (reply.code, reply.remark) == (1, REFUSED)
    assert counts(world) == (1, 0)


def test_a_repeated_body_may_come_without_a_crc(world: World) -> None:
    register(world, plain())
    assert register(world, plain(NOW_MS + 1), bodyCrc32="0").code == 0
    assert counts(world) == (2, 1)


def test_a_new_data_version_is_decoded(world: World) -> None:
    """B148."""
    register(world, plain())
    register(world, plain(NOW_MS + 30_000, counter=2, names=("T1", "T2", "T3")))
    assert counts(world) == (2, 0)
    assert "T3" in world.context.tables.topic_queue_table


bodies = st.one_of(
    st.builds(
        plain,
        st.sampled_from([NOW_MS, NOW_MS + 30_000, 0, 10**12 - 1, 10**13]),
        counter=st.integers(1, 2),
        names=st.sampled_from([("T1", "T2"), ("T1", "mappingDataVersion"), ("T1", "T2", "timestamp")]),
    ),
    st.builds(
        lambda stamp, fake: plain(stamp, topicConfigSerializeWrapper={"mappingDataVersion": {"timestamp": fake}}),
        st.sampled_from([NOW_MS, NOW_MS + 30_000]),
        st.sampled_from([NOW_MS, NOW_MS + 30_000]),
    ),
    st.sampled_from([NOW_MS, CHANGED_MS + 1]).map(lambda ms: plain().replace(b"%d" % CHANGED_MS, b"%d" % ms)),
)
steps = st.lists(st.tuples(bodies, st.sampled_from([None, 105, 216])), min_size=2, max_size=8)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [tmp_path_factory.mktemp(name) for name in ("short", "whole")]


@given(steps)
def test_a_server_that_recognises_bodies_does_what_one_does_that_decodes_all(homes: list[Path], steps: Any) -> None:
    """B146, B147, B148: replies and tables are the same after each registration, and after a topic is deleted."""
    short, whole = (World(home) for home in homes)
    for body, then in steps:
        with patch.object(broker, "repeated_body", return_value=None):
            expected = register(whole, body)
        assert register(short, body) == expected
        if then == RequestCode.DELETE_TOPIC_IN_NAMESRV:
            for world in (short, whole):
                world.ask(then, {"topic": "T1"})
        assert tables(short) == tables(whole)
    assert counts(whole)[1] == 0
    event(f"repeated bodies: {counts(short)[1]}")


def tables(world: World) -> str:
    """Without what only repeated bodies need."""
    return repr(world.context.tables).partition("removals=")[0]
