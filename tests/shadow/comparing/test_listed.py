"""Listed differences: the table has every id of docs/differences.md, and names what Java and rocketns really answered.

``listed.jsonl`` has pairs that deliberate scenarios of interop/parity made of both; those scenarios hold the table to
all others as well (interop/parity/comparing/differences.py).
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from interop.parity.comparing.differences import SAME_SIGN
from interop.parity.comparing.differences import listed as documented
from rocketns.shadow.comparing.comparing import Comparing
from rocketns.shadow.comparing.listed import LISTED, SEEN
from rocketns.shadow.outcome import Outcome
from tests.shadow.frames import answer, broker, pair, request, route

RECORDED = [json.loads(line) for line in Path(__file__).with_name("listed.jsonl").read_text("utf-8").splitlines()]
# Pairs of megabytes, which are not recorded, and a flood.
MADE_HERE = {"mappings-without-end", "lookups-without-a-queue"}


def test_every_documented_difference_is_in_the_table_and_no_other() -> None:
    assert set(LISTED) == set(documented())


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
    assert found.listed in (one["id"], SAME_SIGN.get(one["id"]))


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


def of_106(java: bytes, own: bytes) -> str:
    return Comparing().compare(pair(java, own, request(106))).listed


def test_what_java_never_forgets_is_listed_in_106() -> None:
    assert of_106(info(ALIVE | EMPTY, C=["b", "a"]), info(ALIVE, C=["a"])) == "entries-without-end"
    assert of_106(info(ALIVE, C=["a"], D=["a", "gone"]), info(ALIVE, C=["a"])) == "entries-without-end"
    assert of_106(info(ALIVE, C=["a", None]), info(ALIVE, C=["a"])) == "registration-without-name"
    empty = {"a": broker("a") | {"brokerAddrs": {"0": "10.0.0.1:10911", "1": ""}}}
    assert of_106(info(empty, C=["a"]), info(ALIVE, C=["a"])) == "registration-without-address"


@pytest.mark.parametrize(("java", "own"), [
    (info(ALIVE | {"b": broker("b")}, C=["a", "b"]), info(ALIVE, C=["a"])),
    (info(ALIVE, C=["a"]), info(ALIVE | EMPTY, C=["a", "b"])),
    (info(ALIVE | EMPTY, C=["a", "b"]), info({"a": broker("a", "10.0.0.2:10911")}, C=["a"])),
    (info(ALIVE, C=["a"]), answer(b"{}")),
])  # fmt: skip
def test_a_broker_that_is_alive_or_an_entry_of_rocketns_own_is_not_listed(java: bytes, own: bytes) -> None:
    found = Comparing().compare(pair(java, own, request(106)))
    assert (found.outcome, found.listed) == (Outcome.DIFFERENT, "")
