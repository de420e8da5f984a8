"""Routes for one zone: without other zones' brokers, and in the default dialect."""

from __future__ import annotations

import pytest

from interop.harness.payloads import data_version
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import ask_route, route


@pytest.fixture
def topic(client: Client, names: Names) -> str:
    """A topic of two masters: in zone Z1 with a slave and filter servers, and in zone z2 with filter servers."""
    registered(client, names, __ZONE_NAME="Z1", filters=["10.9.9.9:1"])
    registered(client, names, host=2, broker_id=1, __ZONE_NAME="Z1")
    registered(client, names, host=3, brokerName=names.broker + "-b", __ZONE_NAME="z2", filters=["10.9.9.9:3"])
    return names.topic("T")


def in_zone(client: Client, topic: str, zone: str, mode: str = "true") -> dict[str, list[str]]:
    """The broker names of both lists."""
    data = route(client, topic, __ZONE_MODE=mode, __ZONE_NAME=zone)
    return {key: [one["brokerName"] for one in data[key]] for key in ("brokerDatas", "queueDatas")}


def both(*brokers: str) -> dict[str, list[str]]:
    return {"brokerDatas": list(brokers), "queueDatas": list(brokers)}


@pytest.mark.parametrize("zone", ["Z1", "z1"])
@pytest.mark.parametrize("mode", ["true", "TRUE"])
def test_other_zones_are_removed(client: Client, names: Names, topic: str, zone: str, mode: str) -> None:
    """B211: zone matches (any case): brokers, queues and filter servers of other zones are left out."""
    assert in_zone(client, topic, zone, mode) == both(names.broker)
    data = route(client, topic, __ZONE_MODE=mode, __ZONE_NAME=zone)
    assert data["filterServerTable"] == {names.addr(1): ["10.9.9.9:1"]}
    assert data["brokerDatas"][0]["zoneName"] == "Z1"


def test_filtered_body_has_unquoted_keys(client: Client, names: Names, topic: str) -> None:
    """B211: default mode even for a new client. The rest is checked byte for byte."""
    answer = ask_route(client, topic, __ZONE_MODE="true", __ZONE_NAME="Z1")
    assert (
        answer.body
        == (
            f'{{"brokerDatas":[{{"brokerAddrs":{{0:"{names.addr(1)}",1:"{names.addr(2)}"}},'
            f'"brokerName":"{names.broker}","cluster":"{names.cluster}","enableActingMaster":false,"zoneName":"Z1"}}],'
            f'"filterServerTable":{{"{names.addr(1)}":["10.9.9.9:1"]}},'
            f'"queueDatas":[{{"brokerName":"{names.broker}","perm":6,"readQueueNums":8,"topicSysFlag":0,'
            '"writeQueueNums":8}]}'
        ).encode()
    )


def test_no_zone_matches(client: Client, topic: str) -> None:
    """B212: no match: code 0 with empty lists."""
    answer = ask_route(client, topic, __ZONE_MODE="true", __ZONE_NAME="elsewhere")
    assert (answer.code, answer.body) == (0, b'{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}')


def test_broker_without_zone_does_not_match(client: Client, names: Names) -> None:
    """B212: a broker without a zone does not match."""
    registered(client, names)
    assert in_zone(client, names.topic("T"), "z1") == both()


def test_group_without_master_is_kept(client: Client, names: Names, topic: str) -> None:
    """B213: a group without a master is kept in every zone."""
    orphan = names.broker + "-c"
    registered(client, names, host=4, broker_id=1, brokerName=orphan, __ZONE_NAME="z3")
    assert in_zone(client, topic, "z2") == both(names.broker + "-b", orphan)


def test_static_mapping_stays(client: Client, names: Names, topic: str) -> None:
    """B211: mappings are not filtered; a large epoch is not quoted in this dialect."""
    mapping = {topic: {"bname": names.broker, "currIdMap": {"0": 1}, "epoch": 2**53, "topic": topic}}
    registered(client, names, version=data_version(2), mapping=mapping, __ZONE_NAME="Z1")
    for zone in ("z2", "elsewhere"):
        body = ask_route(client, topic, __ZONE_MODE="true", __ZONE_NAME=zone).body or b""
        assert b'"currIdMap":{0:1}' in body
        assert b'"epoch":9007199254740992,' in body


NO_FILTER = [
    {"__ZONE_NAME": "z2"},
    {"__ZONE_MODE": "true"},
    {"__ZONE_MODE": "true", "__ZONE_NAME": ""},
    {"__ZONE_MODE": "true", "__ZONE_NAME": " \t"},
    {"__ZONE_MODE": "false", "__ZONE_NAME": "z2"},
    {"__ZONE_MODE": "1", "__ZONE_NAME": "z2"},
    {"__ZONE_MODE": "", "__ZONE_NAME": "z2"},
]


@pytest.mark.parametrize("ext", NO_FILTER)
def test_blank_zone_or_other_mode_does_not_filter(client: Client, topic: str, ext: dict[str, str]) -> None:
    """B214: zone blank or mode not true: the same bytes as without."""
    assert ask_route(client, topic, **ext).body == ask_route(client, topic).body


@pytest.mark.parametrize("version", [0, 400, 401, 513])
def test_standard_json_does_not_matter(client: Client, topic: str, version: int) -> None:
    """B215: zone + standard JSON flag: still unquoted."""
    zone = {"__ZONE_MODE": "true", "__ZONE_NAME": "z1"}
    answer = ask_route(client, topic, version=version, acceptStandardJsonOnly="true", **zone)
    assert b'"brokerAddrs":{0:' in (answer.body or b"")


def test_unknown_topic_is_not_found_in_any_zone(client: Client) -> None:
    """B212: the filter does not change an answer without a route."""
    assert ask_route(client, "nope", __ZONE_MODE="true", __ZONE_NAME="z1").code == 17
