"""Hashed names: the same everywhere in a recording, so that a replay still makes sense, and nowhere the real one."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import compressed_body, dumps, register_body, register_ext, topic_config
from rocketns.protocol.body.registration.decoding import decode_register_broker_body
from rocketns.protocol.command import decode
from rocketns.shadow.pairs import Pair
from rocketns.shadow.recording.hashed_pairs import hashed
from rocketns.shadow.recording.hashing import REMARK_CHARS_MAX, Names
from rocketns.shadow.recording.tree import UnreadableError
from tests.shadow.recording.pairs import ANSWERED, answer, pair, request

NAMES = Names(b"key")
LOOKUP = request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "Orders"})
TOPIC, BROKER, CLUSTER = (NAMES.name(name) for name in ("Orders", "broker-a", "C1"))
ADDR = NAMES.text("10.0.0.1:10911")
ROUTE = (
    b'{"brokerDatas":[{"brokerAddrs":{%s:"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"C1",'
    b'"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,'
    b'"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}'
)
SECRET_WORDS = (b"Orders", b"broker-a", b"10.0.0", b"C1", b"10.1.2")


def hashed_pair(asked: bytes, upstream: bytes = ANSWERED) -> Pair:
    found = hashed(pair(asked, upstream), NAMES)
    shown = b"".join(filter(None, (found.request, found.upstream, found.own))) + found.peer.encode()
    assert not any(word in shown for word in SECRET_WORDS)
    return found


def fields(frame: bytes) -> dict[str, Any]:
    return decode(frame).ext_fields or {}


def body(frame: bytes | None) -> Any:
    assert frame is not None
    return json.loads(decode(frame).body or b"")


@pytest.mark.parametrize("binary", [False, True], ids=["json", "binary"])
def test_a_topic_has_one_hash_in_either_form_of_header(binary: bool) -> None:
    asked = request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "Orders", "acceptStandardJsonOnly": "true"}, binary=binary)
    assert fields(hashed_pair(asked).request) == {"topic": TOPIC, "acceptStandardJsonOnly": "true"}


def test_a_route_has_the_hashes_of_its_registration() -> None:
    found = body(hashed_pair(LOOKUP, answer(ROUTE % b'"0"')).upstream)
    group = {"brokerAddrs": {"0": ADDR}, "brokerName": BROKER, "cluster": CLUSTER, "enableActingMaster": False}
    assert found["brokerDatas"] == [group]
    assert found["queueDatas"][0] | {"brokerName": BROKER} == found["queueDatas"][0]


def test_a_route_for_old_clients_keeps_its_unquoted_keys() -> None:
    found = hashed_pair(LOOKUP, answer(ROUTE % b"0")).upstream
    assert f'"brokerAddrs":{{0:"{ADDR}"}}'.encode() in (found or b"")


def test_the_remark_about_a_missing_topic_has_its_hash() -> None:
    remark = "No topic route info in name server for the topic: Orders\nSee https://rocketmq.apache.org/docs"
    frame = answer(code=17).replace(b'"opaque"', b'"remark":' + dumps(remark) + b',"opaque"')
    frame = (len(frame) - 4).to_bytes(4, "big") + (len(frame) - 8).to_bytes(4, "big") + frame[8:]
    found = hashed_pair(LOOKUP, frame).upstream or b""
    assert dumps(remark.replace("Orders", TOPIC)) in found


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
def test_a_registration_registers_the_hashes_and_its_checksum_is_right(compressed: bool) -> None:
    topics = [topic_config("Orders"), topic_config("TBW102")]
    sent = compressed_body(topics, filters=("10.1.2.3:1",)) if compressed else register_body(topics)
    ext = register_ext(body=sent, compressed=str(compressed).lower())
    found = decode(hashed_pair(request(codes.REGISTER_BROKER, ext, sent)).request)
    assert found.body is not None
    assert found.ext("brokerAddr") == ADDR
    assert found.ext("bodyCrc32") == str(zlib.crc32(found.body) & 0x7FFFFFFF)
    registered = decode_register_broker_body(found.body, compressed=compressed, version=513, now_ms=0)
    assert registered.topic_config_wrapper is not None
    assert sorted(registered.topic_config_wrapper.topic_config_table or ()) == sorted([TOPIC, "TBW102"])


def test_an_order_configuration_names_the_hashed_brokers() -> None:
    item = {"namespace": "ORDER_TOPIC_CONFIG", "key": "Orders", "value": "broker-a:4;broker-b:4"}
    found = fields(hashed_pair(request(codes.PUT_KV_CONFIG, item)).request)
    assert found == {
        "namespace": "ORDER_TOPIC_CONFIG", "key": TOPIC, "value": f"{BROKER}:4;{NAMES.name('broker-b')}:4",
    }  # fmt: skip


def test_groups_and_namespaces_keep_what_java_knows_by_name() -> None:
    assert NAMES.name("%RETRY%Orders") == f"%RETRY%{TOPIC}"
    assert NAMES.name("ns1%Orders") == f"{NAMES.name('ns1')}%{TOPIC}"
    assert NAMES.name("C1_REPLY_TOPIC") == f"{CLUSTER}_REPLY_TOPIC"
    assert NAMES.name("rmq_sys_SYNC_BROKER_MEMBER_broker-a") == f"rmq_sys_SYNC_BROKER_MEMBER_{BROKER}"


def test_a_topic_that_is_called_like_a_member_is_hashed_as_a_key_too() -> None:
    listed = answer(b'{"table":{"topicList":"broker-a:4"}}')
    found = body(hashed_pair(request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "N"}), listed).upstream)
    assert found == {"table": {NAMES.name("topicList"): f"{BROKER}:4"}}


def test_properties_keep_numbers_and_words_only() -> None:
    shown = answer(b"rocketmqHome=/data/broker-a\nlistenPort=9876\nconfigBlackList=kvConfigPath;listenPort\n")
    found = hashed_pair(request(codes.GET_NAMESRV_CONFIG), shown).upstream
    assert decode(found or b"").body == f"rocketmqHome={NAMES.text('/data/broker-a')}\n".encode() + (
        b"listenPort=9876\nconfigBlackList=kvConfigPath;listenPort\n"
    )


def test_an_address_becomes_one_of_a_network_that_is_never_used() -> None:
    assert 240 <= int(ADDR.split(".")[0]) < 256
    assert ADDR.endswith(":10911")


def test_a_body_that_is_no_json_is_not_recorded() -> None:
    with pytest.raises(UnreadableError):
        hashed(pair(LOOKUP, answer(b"Orders {")), NAMES)


def test_two_recordings_have_other_hashes() -> None:
    assert Names(b"other").name("Orders") != TOPIC


def test_a_remark_that_no_server_writes_is_not_recorded() -> None:
    with pytest.raises(UnreadableError):
        NAMES.remark("x" * (REMARK_CHARS_MAX + 1), {})
