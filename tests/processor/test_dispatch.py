"""The table of processors: every request gets one reply, and a wrong request changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns import files
from rocketns.errors import BodyDecodeError, MalformedFrame, RequestError
from rocketns.processor import dispatch
from rocketns.processor.requests import REQUESTS
from rocketns.protocol.body.data_version import decode_data_version
from rocketns.protocol.body.queue_data import decode_queue_datas
from rocketns.protocol.body.registration.decoding import decode_register_broker_body
from rocketns.protocol.codes import RequestCode, ResponseCode, SerializeType
from rocketns.protocol.command import Reply
from rocketns.protocol.encoding import encode_reply
from tests.processor.asking import World, crc
from tests.protocol.strategies import any_bytes, ints
from tests.routeinfo.invariants import check_tables


@pytest.mark.parametrize("code", [9999, 0, -3, 905, 1001, 2**31 - 1])
def test_other_codes_are_not_supported(world: World, code: int) -> None:
    """B076, B249."""
    reply = world.ask(code, {}, b"x")
    assert reply == Reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f" request type {code} not supported")


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


def test_an_error_knows_its_reply() -> None:
    """B007, B008."""

    class Refused(RequestError):
        response_code = 16
        header_made = True

    assert dispatch.reply_of(Refused("no")) == Reply(16, "no", {})
    assert dispatch.reply_of(RequestError(None)) == Reply(1, None, None)
    assert not issubclass(MalformedFrame, RequestError)


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
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One context for all examples, so each one starts with the state after the others. No files are written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "replace_with_backup", lambda _path, _content: None)
        yield World(tmp_path_factory.mktemp("shared"))


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


def is_refused(code: int, body: bytes, version: int) -> bool:
    """Whether the protocol cannot read the body of this request."""
    decoders = {
        103: lambda: decode_register_broker_body(body, compressed=False, version=version, now_ms=0),
        217: lambda: decode_queue_datas(body),
        322: lambda: decode_data_version(body, 0),
    }
    try:
        decoders[code]()
    except BodyDecodeError:
        return True
    return False


@given(st.sampled_from([103, 217, 322]), any_bytes.filter(bool), versions.filter(lambda version: version >= 37))
@example(103, b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"a":{"topicName":"N"},"b":null}}}', 513)
@example(217, b'{"queueDatas":[{"brokerName":"broker-a"},{"brokerName":"broker-a","perm":"x"}]}', 513)
def test_a_body_that_cannot_be_read_changes_nothing(shared: World, code: int, body: bytes, version: int) -> None:
    """B134, B135, B172, B229: code 1, and a remark that says why."""
    if not is_refused(code, body, version):
        return
    shared.register("T1", "T2")
    before = shared.state()
    ext = {"clusterName": "C1", "brokerName": "broker-a", "brokerAddr": "10.0.0.1:10911", "brokerId": 0, "topic": "N"}
    for crc32 in (0, crc(body)):
        reply = shared.ask(code, ext | {"bodyCrc32": crc32}, body, version=version)
        assert (reply.code, reply.body, reply.ext_fields) == (1, None, None)
        assert reply.remark
    assert shared.state() == before


def test_a_property_text_that_cannot_be_read_changes_nothing(world: World, tmp_path: Path) -> None:
    """B239."""
    before, written = world.state(), (tmp_path / "namesrv.properties").read_bytes()
    reply = world.ask(RequestCode.UPDATE_NAMESRV_CONFIG, None, b"waitSecondsForService=1\nx=\\u12")
    assert (reply.code, reply.remark) == (1, "string2Properties error")
    assert (world.state(), (tmp_path / "namesrv.properties").read_bytes()) == (before, written)
