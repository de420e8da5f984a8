"""Every request gets one reply, and a wrong one changes nothing: requests of clients, tools and brokers."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interop.harness.payloads import data_version, dumps, register_body, register_ext, topic_config
from rocketns import files
from rocketns.access.classes import Access
from rocketns.files import FileWriter
from rocketns.processor.context import Now
from rocketns.processor.requests import REQUESTS, check_rows, request_of
from rocketns.protocol.codes import RequestCode, ResponseCode, SerializeType
from rocketns.protocol.command import Reply
from rocketns.protocol.encoding import encode_reply
from rocketns.routeinfo.events import AdminRequested, KvChanged
from tests.processor.asking import START, World, crc
from tests.protocol.strategies import any_bytes, ints
from tests.routeinfo.manager import check_tables


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_an_unforeseen_error_is_answered_and_logged(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """B079."""

    def fail(*_: Any) -> Reply:
        raise KeyError("surprise")

    monkeypatch.setitem(REQUESTS, 106, REQUESTS[106]._replace(process=fail))
    reply = world.ask(106)
    assert (reply.code, reply.remark, reply.ext_fields) == (1, "KeyError: 'surprise'", None)
    (record,) = caplog.records
    assert (record.levelno, record.exc_info is not None) == (logging.ERROR, True)


@pytest.mark.parametrize("code", sorted(REQUESTS.keys() - {RequestCode.UNREGISTER_BROKER}))
@pytest.mark.parametrize("ext", [None, {}], ids=str)
def test_a_request_without_fields_changes_nothing(world: World, code: int, ext: dict[str, Any] | None) -> None:
    """B082, B086: with any body. (An unregistration is queued with any content.)"""
    world.register("T1", "T2")
    before = world.state()
    for body in (None, b"{}", b"[]", b"null", b"\xff" * 20, b"\\u12"):
        world.ask(code, ext, body)
    assert world.state() == before


NAMES = ["topic", "clusterName", "brokerName", "brokerAddr", "brokerId", "cluster", "namespace", "key", "value",
         "compressed", "bodyCrc32", "enableActingMaster", "heartbeatTimeoutMillis", "haServerAddr",
         "acceptStandardJsonOnly", "__ZONE_NAME", "__ZONE_MODE"]  # fmt: skip
VALUES = ["T1", "T2", "C1", "broker-a", "10.0.0.1:10911", "ORDER_TOPIC_CONFIG", "0", "1", "-1", "true", "false", "",
          "x", "9" * 30, "\ud800", "é\U0001f600", "null"]  # fmt: skip
fields = st.none() | st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES) | st.none())
codes = st.one_of(st.sampled_from(sorted(REQUESTS)), ints)
versions = st.sampled_from([513, 0, 36, 37, 400, 401, 413, 612, 10_000, -1])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> World:
    """One context for all examples, so each one starts with the state after the others."""
    return World(tmp_path_factory.mktemp("shared"))


@given(codes, fields, st.none() | any_bytes, versions)
@example(RequestCode.UPDATE_NAMESRV_CONFIG, None, b"waitSecondsForService=" + b"9" * 5000, 513)
@example(RequestCode.REGISTER_BROKER, {"brokerId": "0"}, b"9" * 5000, 513)
@example(RequestCode.PUT_KV_CONFIG, {"namespace": "\ud800", "key": "\udfff", "value": "\ud800"}, None, 513)
def test_any_request_gets_a_reply_that_can_be_sent(
    shared: World, code: int, ext: dict[str, Any] | None, body: bytes | None, version: int
) -> None:
    shared.register("T1", "T2")
    reply = shared.ask(code, ext, body or None, version=version)
    assert reply.code in set(ResponseCode)
    assert reply.code in (0, 1) or reply.remark
    for kind in SerializeType:
        assert encode_reply(reply, 1, kind)
    check_tables(shared.context.tables, shared.now.ms)


# The table of requests: what it says of each code is what its processor does.

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


# KV configuration and the name server's own properties, as requests.

NK = {"namespace": "ns", "key": "k"}


def test_a_put_or_a_deletion_that_changes_nothing_is_no_event(world: World) -> None:
    for code in (100, 100, 102, 102):
        world.ask(code, NK | {"value": "v"})
    assert [event.value for event in world.context.drain_events() if isinstance(event, KvChanged)] == ["v", None]


@pytest.mark.parametrize(("name", "value"), [("kvBytesMax", "v" * 300), ("kvValueBytesMax", "v" * 301)])
def test_a_value_beyond_a_limit_is_refused(tmp_path: Path, name: str, value: str) -> None:
    """The error names the property; nothing changed, nothing is written."""
    world = World(tmp_path, "rocketns.kvBytesMax=500\nrocketns.kvValueBytesMax=300\n")
    reply = world.ask(100, NK | {"value": value})
    assert (reply.code, f"more than rocketns.{name}=" in (reply.remark or "")) == (1, True)
    assert (world.context.kv_config.config_table, (tmp_path / "kv.json").exists()) == ({}, False)
    assert [type(event) for event in world.context.drain_events()] == [AdminRequested]


@pytest.mark.parametrize(("namespace", "refused"), [("ORDER_TOPIC_CONFIG", True), ("ns", False)])
@pytest.mark.parametrize("checked", ["true", "false"])
def test_an_order_configuration_that_clients_cannot_read_is_refused_on_request(
    tmp_path: Path, namespace: str, *, refused: bool, checked: str
) -> None:
    world = World(tmp_path, f"rocketns.checkOrderConf={checked}\n")
    item = {"namespace": namespace, "key": "T"}
    assert world.ask(100, item | {"value": "a:4;b:4;"}).code == ResponseCode.SUCCESS
    reply = world.ask(100, item | {"value": "a:4;b"})
    if refused and checked == "true":
        assert (reply.code, "clients cannot read 'b'" in (reply.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)
    else:
        assert reply.code == ResponseCode.SUCCESS


def test_too_much_that_waits_for_the_disk_is_refused(world: World) -> None:
    """Before anything is changed: puts, deletes and properties."""
    world.ask(100, NK | {"value": "v"})
    before = world.state()
    world.context.writer = FileWriter(changes_max=0)
    for reply in (world.ask(100, NK), world.ask(102, NK), world.ask(318, None, b"waitSecondsForService=7")):
        assert reply == Reply(2, "[OVERLOAD]system busy, start flow control for a while")
    assert world.state() == before
    assert world.ask(318, None, None) == Reply()


def test_a_file_that_cannot_be_written_is_an_error(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """B094, B235: Java answers success. The change takes effect all the same, and the log has a line."""

    def fail(_path: Path, _content: bytes) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(files, "replace_with_backup", fail)
    replies = world.ask(318, None, b"waitSecondsForService=7"), world.ask(100, NK | {"value": "v"})
    for reply, path in zip(replies, (world.context.config_file.path, world.context.kv_config.path), strict=True):
        assert reply == Reply(1, f"cannot write {path}: disk full. The change is in effect, but a restart loses it.")
    assert (world.configuration.namesrv.wait_seconds_for_service, world.ask(101, NK).code) == (7, 0)
    assert [record.levelname for record in caplog.records if "disk full" in record.getMessage()] == ["ERROR"] * 2


# Requests of brokers.

KEY = {"clusterName": "C1", "brokerAddr": "10.0.0.1:10911"}


def test_a_full_queue_is_an_error_without_a_remark(tmp_path: Path) -> None:
    """B184."""
    world = World(tmp_path, queue_capacity=2)
    assert [world.ask(104, KEY).code for _ in range(3)] == [0, 0, 1]
    assert world.ask(104, KEY) == Reply(1, None, None)
    world.context.unregister_queue.remove_first(10**6)
    assert world.ask(104, KEY).code == 0


# Registrations with the moving time stamp of a 5.x broker are recognised.

NOW_MS = START.epoch_ms


def plain(stamp: int = NOW_MS) -> bytes:
    """The body of a 5.5.0 broker, which last changed a topic some minutes ago."""
    own = {
        "dataVersion": data_version(1, NOW_MS - 1_000_000),
        "mappingDataVersion": {"counter": 0, "stateVersion": 0, "timestamp": stamp},
        "topicConfigTable": {name: topic_config(name) for name in ("T1", "T2")},
        "topicQueueMappingDetailMap": {},
        "topicQueueMappingInfoMap": {},
    }
    return dumps({"filterServerList": [], "topicConfigSerializeWrapper": own})


def register(world: World, body: bytes, **ext: Any) -> Reply:
    return world.ask(RequestCode.REGISTER_BROKER, register_ext(body=body, **ext), body)


def counts(world: World) -> tuple[int, int]:
    return world.context.registrations.total, world.context.registrations.repeated


@pytest.mark.parametrize("missing", ["clusterName", "brokerName", "brokerAddr"])
def test_a_registration_of_nobody_changes_nothing(world: World, missing: str) -> None:
    before = world.state()
    assert world.register("T", **{missing: None}).code == 0
    assert world.state() == before


def test_a_body_that_maps_another_broker_is_read_again(world: World) -> None:
    """The other one may have the topic by then."""
    mappings = {"T1": {"topic": "T1", "bname": "another", "currIdMap": {}, "totalQueues": 1}}
    body = plain().replace(b'"topicQueueMappingInfoMap":{}', b'"topicQueueMappingInfoMap":' + dumps(mappings))
    for _ in range(2):
        assert register(world, body).code == 0
    assert counts(world) == (2, 0)


def test_a_body_with_a_later_stamp_is_a_repeated_one(world: World) -> None:
    """B147: also with the CRC in the header, which differs because the stamp does."""
    for periods in range(3):
        assert register(world, plain(NOW_MS + 30_000 * periods)).code == 0
    assert counts(world) == (3, 2)


def test_the_crc_of_a_repeated_body_is_checked(world: World) -> None:
    """B121: with a stamp of its own and without."""
    register(world, plain())
    for stamp in (NOW_MS, NOW_MS + 30_000):
        reply = register(world, plain(stamp), bodyCrc32=str(crc(plain(stamp)) ^ 1))
        assert (reply.code, reply.remark) == (1, "crc32 not match")
    assert counts(world) == (1, 0)
