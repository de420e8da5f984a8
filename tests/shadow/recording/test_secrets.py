"""What signs a request, and every password, is in no recording; everything else keeps its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness import codes
from interop.harness.wire import frame, json_header
from rocketns.protocol.command import decode
from rocketns.shadow.recording.secrets import without_secrets
from rocketns.shadow.recording.tree import UnreadableError
from tests.shadow.recording.pairs import answer, pair, request

SIGNED = {"AccessKey": "ak", "OnsChannel": "ALIYUN", "Signature": "c2ln", "SecurityToken": "st", "topic": "T"}
LOOKUP = codes.GET_ROUTEINFO_BY_TOPIC
BOTH_FORMS = pytest.mark.parametrize("binary", [False, True], ids=["json", "binary"])


@BOTH_FORMS
def test_a_signed_request_is_recorded_without_what_signed_it(binary: bool) -> None:
    clean = without_secrets(pair(request(LOOKUP, SIGNED, binary=binary))).request
    assert clean == request(LOOKUP, {"topic": "T"}, binary=binary)


@BOTH_FORMS
def test_a_request_without_secrets_keeps_its_bytes(binary: bool) -> None:
    sent = request(LOOKUP, {"topic": "订单"}, b"{ }", binary=binary)
    assert without_secrets(pair(sent)).request == sent


def test_a_header_with_blanks_keeps_them_where_nothing_is_left_out() -> None:
    sent = frame(b'{ "code" : 105, "extFields" : { "topic" : "T" } }')
    assert without_secrets(pair(sent)).request == sent


@pytest.mark.parametrize("key", [b'"AccessKey"', b'"accesskey"', b'"\\u0041ccessKey"'])
def test_the_name_of_a_secret_field_may_be_written_in_any_way(key: bytes) -> None:
    sent = frame(b'{"code":105,"extFields":{' + key + b':"ak","topic":"T"}}')
    assert without_secrets(pair(sent)).request == frame(b'{"code":105,"extFields":{"topic":"T"}}')


def test_both_of_two_fields_of_one_name_are_left_out() -> None:
    sent = frame(b'{"code":105,"extFields":{"AccessKey":"a","AccessKey":"b"}}')
    assert b"AccessKey" not in without_secrets(pair(sent)).request


def test_a_request_whose_secrets_cannot_be_found_is_not_recorded() -> None:
    with pytest.raises(UnreadableError):
        without_secrets(pair(frame(b"{'code':105,'extFields':{'AccessKey':'ak'}}")))


def test_passwords_of_a_changed_configuration_are_left_out() -> None:
    body = b"tls.server.keyPassword=secret\nlistenPort=9876\nkey\\u0050assword = s1\\\n  s2\n"
    clean = without_secrets(pair(request(codes.UPDATE_NAMESRV_CONFIG, None, body))).request
    assert decode(clean).body == b"listenPort=9876\n"


def test_passwords_of_a_shown_configuration_are_left_out_of_both_answers() -> None:
    shown = answer(b"listenPort=9876\ntls.client.keyPassword=secret\n")
    clean = without_secrets(pair(request(codes.GET_NAMESRV_CONFIG), shown, shown))
    assert clean.upstream == clean.own == answer(b"listenPort=9876\n")


@BOTH_FORMS
def test_a_kv_item_whose_key_is_a_password_is_recorded_without_its_value(binary: bool) -> None:
    item = {"namespace": "N", "key": "dbPassword", "value": "secret"}
    clean = without_secrets(pair(request(codes.PUT_KV_CONFIG, item, binary=binary)))
    assert clean.request == request(codes.PUT_KV_CONFIG, {"namespace": "N", "key": "dbPassword"}, binary=binary)


def test_the_answer_with_that_value_is_recorded_without_it() -> None:
    asked = request(codes.GET_KV_CONFIG, {"namespace": "N", "key": "dbPassword"})
    assert without_secrets(pair(asked, answer(ext={"value": "secret"}))).upstream == answer(ext={})


def test_passwords_of_a_listed_namespace_are_left_out() -> None:
    listed = answer(b'{"table":{"dbPassword":"secret","TopicO":"broker-a:4"}}')
    clean = without_secrets(pair(request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "N"}), listed))
    assert clean.upstream == answer(b'{"table":{"TopicO":"broker-a:4"}}')


@given(st.binary(max_size=60))
def test_any_header_is_refused_or_left_without_secrets(rest: bytes) -> None:
    sent = frame(json_header(105, SIGNED)[:-1] + rest)
    try:
        clean = without_secrets(pair(sent)).request
    except UnreadableError:
        return
    fields = decode(clean).ext_fields or {}
    assert not {"AccessKey", "Signature", "SecurityToken", "OnsChannel"} & fields.keys()
