"""What differs between two answers is found and named, and nothing else."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.shadow import tree
from rocketns.shadow.comparing.comparing import NO_FRAME, Comparing, PairVerdict
from rocketns.shadow.comparing.listed import SEEN
from rocketns.shadow.pairs import SHOWN_CHARACTERS, Outcome, Pair
from tests.shadow.frames import NOW_MS, answer, binary_answer, broker, compact, pair, request, route

INFO = {"brokerAddrTable": {"a": broker("a"), "b": broker("b")}, "clusterAddrTable": {"C": ["a", "b"], "D": ["x", "y"]}}
MAPPING = {"b": {"bname": "b"}, "a": {"bname": "a"}}


def compare(upstream: bytes | None, own: bytes | None, code: int = 105) -> PairVerdict:
    return Comparing().compare(pair(upstream, own, request(code)))


def turned(value: Any) -> Any:
    """Every list and object in the other order."""
    if isinstance(value, dict):
        return {key: turned(item) for key, item in reversed(value.items())}
    return [turned(item) for item in reversed(value)] if isinstance(value, list) else value


ADDRS = {"0": "h:1", "1": "h:2"}
IN_ANY_ORDER = {
    "topics": (206, {"topicList": ["a", "b", "c"]}, {"topicList": ["c", "a", "b"]}),
    "topics of a cluster": (224, {"topicList": ["a", "b"]}, {"topicList": ["b", "a"]}),
    "system topics and any broker": (304, {"brokerAddr": "h:1", "topicList": ["a", "b"]},
                                     {"brokerAddr": "h:2", "topicList": ["b", "a"]}),
    "brokers and queues of a route": (105, route("a", "b"), route("b", "a")),
    "brokers, addresses and clusters": (106, INFO, {
        "brokerAddrTable": {"b": broker("b"), "a": broker("a")},
        "clusterAddrTable": {"D": ["y", "x"], "C": ["b", "a"]}}),
    "KV items": (219, {"table": {"a": "1", "b": "2"}}, {"table": {"b": "2", "a": "1"}}),
    "members of a group": (901, {"brokerMemberGroup": {"brokerAddrs": ADDRS, "brokerName": "a"}},
                           {"brokerMemberGroup": {"brokerAddrs": turned(ADDRS), "brokerName": "a"}}),
}  # fmt: skip


@pytest.mark.parametrize("kind", IN_ANY_ORDER)
def test_each_list_that_java_has_in_hash_order_may_be_in_any_order(kind: str) -> None:
    code, one, other = IN_ANY_ORDER[kind]
    assert compare(answer(one), answer(other), code).outcome is Outcome.ORDER


def test_maps_of_routes_for_old_peers_may_be_in_any_order_and_those_for_new_peers_not() -> None:
    new = [answer(route("a") | {"topicQueueMappingByBroker": mapping}) for mapping in (MAPPING, turned(MAPPING))]
    old = [one.replace(b'"0":', b"0:") for one in new]
    sized = [len(one).to_bytes(4, "big")[:0] + (len(one) - 4).to_bytes(4, "big") + one[4:] for one in old]
    assert compare(*new).outcome is Outcome.DIFFERENT
    assert compare(*sized).outcome is Outcome.ORDER


def test_members_in_another_order_differ_where_java_writes_them_in_one_order() -> None:
    found = compare(answer(route("a")), answer(dict(reversed(route("a").items()))))
    assert (found.outcome, found.differences[0].path) == (Outcome.DIFFERENT, "body (order)")


def test_another_release_and_its_address_in_a_remark_are_not_compared() -> None:
    remark = "No topic route info in name server for the topic: T\nSee {} for further details."
    one, other = (remark.format(f"https://rocketmq.apache.org/docs/{end}") for end in ("bestPractice/06FAQ", "faq/"))
    assert compare(answer(b"", 17, remark=one), answer(b"", 17, version=475, remark=other)).outcome is Outcome.ORDER
    assert compare(binary_answer(route("a")), binary_answer(route("a"), version=475)).outcome is Outcome.ORDER


def test_java_before_5_0_has_no_acting_masters_and_any_other_member_that_it_lacks_is_a_difference() -> None:
    old = compact(route("a", "b")).replace(b',"enableActingMaster":false', b"")
    before, after = answer(old, version=401), answer(old, version=413)
    assert compare(before, answer(route("b", "a"))).outcome is Outcome.ORDER
    assert compare(after, answer(route("a", "b"))).outcome is Outcome.DIFFERENT
    acting = compact(route("a", "b")).replace(b'Master":false', b'Master":true')
    assert compare(before, answer(acting)).outcome is Outcome.DIFFERENT
    assert compare(before, answer(route("a", "b", perm=4))).outcome is Outcome.DIFFERENT


def test_what_319_says_of_the_machine_is_not_compared_and_other_properties_are() -> None:
    one = b"listenPort=9876\nrocketmqHome=/opt/rocketmq\nserverWorkerThreads=8\ntls.server.keyPassword=x\n"
    other = b"listenPort=40001\nrocketns.mute=true\nserverWorkerThreads=8\n"
    assert compare(answer(one), answer(other), 319).outcome is Outcome.ORDER
    found = compare(answer(one), answer(other.replace(b"=8", b"=9")), 319)
    assert [tuple(vars_of(one)) for one in found.differences] == [("body.serverWorkerThreads", "8", "9")]


def vars_of(difference: Any) -> tuple[str, str, str]:
    return difference.path, difference.upstream, difference.own


def test_a_time_of_now_is_not_compared_and_another_time_is() -> None:
    def version(ms: int) -> bytes:
        return answer({"counter": 1, "stateVersion": 0, "timestamp": ms})

    assert compare(version(NOW_MS), version(NOW_MS + 900), 322).outcome is Outcome.ORDER
    assert compare(version(NOW_MS - 10**9), version(NOW_MS), 322).outcome is Outcome.DIFFERENT


def test_the_text_of_an_exception_is_not_compared_and_that_there_is_one_is() -> None:
    java = answer(b"", 1, remark="java.lang.NullPointerException, Foo.bar(Foo.java:1)")
    assert compare(java, answer(b"", 1, remark="java.lang.NullPointerException")).outcome is Outcome.ORDER
    assert compare(java, answer(b"", 1)).outcome is Outcome.DIFFERENT


def test_an_opaque_that_nobody_chose_is_not_compared_and_any_other_is() -> None:
    asked = request().replace(b'"opaque":7,', b"")
    asked = (len(asked) - 4).to_bytes(4, "big") + (len(asked) - 8).to_bytes(4, "big") + asked[8:]
    one, other = answer(opaque=1), answer(opaque=2)
    assert Comparing().compare(pair(one, other, asked)).outcome is Outcome.ORDER
    assert compare(one, other).outcome is Outcome.DIFFERENT


PLANTED: dict[str, tuple[bytes, bytes, tuple[str, str, str]]] = {
    "code": (answer(b"", 17), answer(b"", 1), ("header.code", "17", "1")),
    "remark": (answer(b"", 1, remark="a"), answer(b"", 1, remark="b"), ("header.remark", '"a"', '"b"')),
    "binary code": (binary_answer(b"", 17), binary_answer(b"", 1), ("header.code", "17", "1")),
    "encoding of the header": (answer(), binary_answer(), ("type", "0", "1")),
    "a broker is missing": (
        answer(route("a", "b")),
        answer(route("a", "b") | {"brokerDatas": [broker("b")]}),
        ("body.brokerDatas[a]", json.dumps(broker("a"), separators=(",", ":")), ""),
    ),
    "a permission": (answer(route("a")), answer(route("a", perm=4)), ("body.queueDatas[a].perm", "6", "4")),
    "a topic": (
        answer({"topicList": ["a", "b"]}),
        answer({"topicList": ["b", "c"]}),
        ("body.topicList[a]", '"a"', ""),
    ),
    "a topic twice": (
        answer({"topicList": ["a", "b"]}),
        answer({"topicList": ["a", "b", "b"]}),
        ("body.topicList[b at 2]", "", '"b"'),
    ),
    "a number that becomes a text": (answer(b'{"a":0}'), answer(b'{"a":"0"}'), ("body.a", "0", '"0"')),
    "white space": (answer(b'{"a":0}'), answer(b'{"a":0}\n'), ("body", '{"a":0}', '{"a":0}\n')),
}  # fmt: skip


@pytest.mark.parametrize("kind", PLANTED)
def test_each_kind_of_planted_difference_is_found_and_named(kind: str) -> None:
    upstream, own, named = PLANTED[kind]
    found = compare(upstream, own)
    assert found.outcome is Outcome.DIFFERENT
    path, java, here = vars_of(found.differences[0])
    assert path == named[0]
    assert (java[:15], here[:15]) == (named[1][:15], named[2][:15])


def test_an_answer_that_is_missing_is_named_by_who_did_not_answer() -> None:
    assert compare(None, answer()).note == "the upstream gave no answer"
    assert compare(answer(), None) == PairVerdict(Outcome.MISSING, note="rocketns gave no answer")
    assert compare(None, None).outcome is Outcome.EQUAL


@pytest.mark.parametrize("data", [b"", b"\0\0\0\4\0\0\0", b"\0\0\0\4\0\0\0\x09", b"\0\0\0\xff\0\0\0\1x", b"\xff" * 30])
def test_bytes_that_are_no_frame_differ_and_are_called_so(data: bytes) -> None:
    found = compare(data, answer())
    assert (found.outcome, found.note.startswith(NO_FRAME)) == (Outcome.DIFFERENT, True)


RECORDED = [json.loads(line) for line in Path(__file__).with_name("listed.jsonl").read_text("utf-8").splitlines()]


# Pairs of megabytes, which are not recorded, and a flood.
MADE_HERE = {"mappings-without-end", "lookups-without-a-queue"}


def test_every_difference_that_one_pair_shows_has_a_pair_here() -> None:
    assert {one["id"] for one in RECORDED} | MADE_HERE == set(SEEN)


def frame(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


@pytest.mark.parametrize("one", RECORDED, ids=lambda one: f"{one['id']}-{one['scenario']}")
def test_what_both_servers_answered_in_a_deliberate_scenario_is_named(one: dict[str, Any]) -> None:
    asked = frame(one["request"])
    assert asked is not None
    found = Comparing().compare(pair(frame(one["java"]), frame(one["own"]), asked))
    assert found.outcome is Outcome.LISTED
    assert found.listed == one["id"]


def test_a_lookup_that_java_is_too_busy_for_is_listed_and_one_that_rocketns_refuses_is_not() -> None:
    busy, found = answer(code=2, remark="[OVERLOAD]"), answer(route("a"))
    assert Comparing().compare(pair(busy, found)).listed == "lookups-without-a-queue"
    assert Comparing().compare(pair(found, busy)).outcome is Outcome.DIFFERENT


def test_more_mappings_of_java_are_listed_and_fewer_or_others_are_not() -> None:
    few, many, others = (
        answer(route("a", "b") | {"topicQueueMappingByBroker": mappings})
        for mappings in ({"a": {"e": 1}}, {"a": {"e": 1}, "b": {"e": 2}}, {"a": {"e": 3}})
    )
    assert Comparing().compare(pair(many, few)).listed == "mappings-without-end"
    assert Comparing().compare(pair(few, many)).outcome is Outcome.DIFFERENT
    assert Comparing().compare(pair(many, others)).outcome is Outcome.DIFFERENT
    also_other = answer(route("a") | {"topicQueueMappingByBroker": {"a": {"e": 1}}})
    assert Comparing().compare(pair(many, also_other)).outcome is Outcome.DIFFERENT


def info(groups: dict[str, Any], **clusters: list[str | None]) -> bytes:
    return answer({"brokerAddrTable": groups, "clusterAddrTable": clusters})


ALIVE = {"a": broker("a")}
EMPTY = {"b": broker("b") | {"brokerAddrs": {}}}


@pytest.mark.parametrize(("java", "own"), [
    (info(ALIVE | {"b": broker("b")}, C=["a", "b"]), info(ALIVE, C=["a"])),
    (info(ALIVE, C=["a"]), info(ALIVE | EMPTY, C=["a", "b"])),
    (info(ALIVE | EMPTY, C=["a", "b"]), info({"a": broker("a", "10.0.0.2:10911")}, C=["a"])),
    (info(ALIVE, C=["a"]), answer(b"{}")),
])  # fmt: skip
def test_a_broker_that_is_alive_or_an_entry_of_rocketns_own_is_not_listed(java: bytes, own: bytes) -> None:
    found = Comparing().compare(pair(java, own, request(106)))
    assert (found.outcome, found.listed) == (Outcome.DIFFERENT, "")


@pytest.mark.parametrize("body", [
    b'{"table":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"table":{' + b'"a":"' + b"\\" * 100_001,
    b'{"brokerAddrTable":1,"clusterAddrTable":null}',
    b'{"brokerDatas":null,"queueDatas":{}}',
    bytes(range(256)) * 100,
])  # fmt: skip
@pytest.mark.parametrize("code", [105, 106, 206, 219, 319])
def test_a_hostile_body_differs_and_is_cut(body: bytes, code: int) -> None:
    found = Comparing().compare(pair(answer(body), answer(b'{"table":{"a":"1"}}'), request(code)))
    assert found.outcome is Outcome.DIFFERENT
    assert all(len(one.upstream) <= SHOWN_CHARACTERS and len(one.own) <= SHOWN_CHARACTERS for one in found.differences)


def test_a_body_of_more_tokens_than_the_bound_is_compared_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = b'{"table":{"a":"1","b":"2"}}', b'{"table":{"b":"2","a":"1"}}'
    assert Comparing().compare(pair(answer(one), answer(other))).outcome is Outcome.ORDER
    monkeypatch.setattr(tree, "TOKENS_MAX", 10)
    assert Comparing().compare(pair(answer(one), answer(other))).outcome is Outcome.DIFFERENT


BODIES = st.lists(st.sampled_from(["a", "b", "é"]), max_size=3).map(lambda names: compact({"topicList": names}))
MORE_BODIES = BODIES | st.sampled_from([compact({"table": {"a": "1"}}), b"", b"x", compact({"timestamp": NOW_MS})])
PAIRS = st.builds(
    lambda one, other, code, at_ms: pair(answer(one), answer(other), request(code), at_ms=at_ms),
    MORE_BODIES, MORE_BODIES, st.sampled_from([105, 106, 206, 319]), st.sampled_from([NOW_MS, NOW_MS + 10**9]),
)  # fmt: skip


@given(st.lists(PAIRS, max_size=30))
def test_what_is_remembered_never_changes_what_is_found(pairs: list[Pair]) -> None:
    remembering = Comparing(remembered_max=3)
    assert [remembering.compare(one) for one in pairs] == [Comparing().compare(one) for one in pairs]
