"""Each client finds its topic's brokers and queues in the bytes of the answer to the request that it sends."""

from __future__ import annotations

import json

import pytest

from interop.harness.payloads import compressed_body, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.clients.conftest import Found, ask
from tests.behaviour.clients.parsers import Unreadable, elixir, lua, new_life, python
from tests.behaviour.conftest import Names
from tests.behaviour.steps import TWO_TOPICS, register_with, registered

# language 5, as a number, and a remark
ELIXIR = '{{"code":{code},"extFields":{ext},"flag":0,"language":5,"opaque":0,"remark":"","version":317}}'
PYTHON = '{{"code":{code},"language":3,"version":1,"opaque":1,"flag":0,"extFields":{ext}}}'
# It names its language `languageCode`, and has fields that are numbers or null.
DOTNET = (
    '{{"code":105,"languageCode":2,"version":317,"opaque":1,"flag":0,"remark":null,'
    '"extFields":{{"topic":"{topic}","sysFlag":64,"logicalQueueIdsFilter":null}}}}'
)
NEW_LIFE = (
    '{{"code":105,"extFields":{{"topic":"{topic}"}},"flag":0,"language":"DOTNET","opaque":1,'
    '"serializeTypeCurrentRPC":"JSON","version":{version}}}'
)
LUA = (
    '{{"code":105,"language":"other","flag":0,"opaque":1,"serializeTypeCurrentRPC":"JSON","version":373,'
    '"extFields":{{"topic":"{topic}"}},"remark":""}}'
)


def lookup(header: str, found: Found) -> str:
    return header.format(code=105, ext=json.dumps({"topic": found.topic}))


def body_of(frame: bytes) -> bytes:
    return new_life(frame)[1]


def test_elixir_finds_the_address_behind_a_number_without_quotes(client: Client, found: Found) -> None:
    """B198: ex_rocketmq matches ``"brokerAddrs":{0:"..."}`` and nothing else."""
    route = elixir(ask(client, lookup(ELIXIR, found)))
    assert route["brokerDatas"][0]["brokerAddrs"] == {"0": found.addr}
    assert route["queueDatas"][0]["topicSysFlag"] == 0


def test_elixir_reads_all_brokers_where_they_have_one_group(own_server: NameServer, names: Names) -> None:
    """B216: its pattern quotes one group; a cluster of more is unreadable, with the Java name server too."""
    with own_server.connect() as client:
        registered(client, names)
        info = elixir(ask(client, ELIXIR.format(code=106, ext="{}")))
        assert info["brokerAddrTable"][names.broker]["brokerAddrs"] == {"0": names.addr()}
        registered(client, names, host=2, brokerName=f"{names.broker}-b")
        with pytest.raises(Unreadable):
            elixir(ask(client, ELIXIR.format(code=106, ext="{}")))


def test_pyrocketmq_fails_at_a_boolean_as_with_java(client: Client, found: Found) -> None:
    """B198: enableActingMaster is in each answer of RocketMQ 5, and ``false`` is no literal of Python."""
    answer = ask(client, lookup(PYTHON, found))
    with pytest.raises(Unreadable):
        python(answer)
    route = python(answer.replace(b"false", b"False"))
    assert route["brokerDatas"][0]["brokerAddrs"] == {0: found.addr}


def test_dotnet_finds_its_route_with_null_fields_in_its_request(client: Client, found: Found) -> None:
    """EventHorizon.RocketMQ: Newtonsoft reads numbers as keys, and knows neither clusters nor filter servers."""
    body = body_of(ask(client, DOTNET.format(topic=found.topic)))
    assert f'"brokerAddrs":{{0:"{found.addr}"}},"brokerName":"{found.broker}"'.encode() in body
    assert b'"perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8' in body


@pytest.mark.parametrize(("version", "key"), [(355, "0"), (407, '"0"')], ids=["4.8.0", "4.9.7"])
def test_new_life_finds_its_route_in_either_dialect(client: Client, found: Found, version: int, key: str) -> None:
    """B199: it says 4.8.0 or 4.9.7, and its own JSON parser takes keys with and without quotes."""
    header, body = new_life(ask(client, NEW_LIFE.format(topic=found.topic, version=version)))
    assert (header["code"], header["opaque"], header["flag"]) == (0, 1, 1)
    assert f'"brokerAddrs":{{{key}:"{found.addr}"}}'.encode() in body


def test_lua_finds_its_route_in_json_without_blanks(client: Client, found: Found) -> None:
    """lua-resty-rocketmq: its language is spelled small, and its remark is empty."""
    route = lua(body_of(ask(client, LUA.format(topic=found.topic))))
    assert route["brokerDatas"][0] == {
        "brokerAddrs": {"0": found.addr}, "brokerName": found.broker, "cluster": found.cluster,
        "enableActingMaster": False,
    }  # fmt: skip


@pytest.mark.parametrize("header", [ELIXIR, PYTHON, DOTNET, NEW_LIFE, LUA])
def test_a_missing_topic_is_code_17_without_a_body(client: Client, names: Names, header: str) -> None:
    """B197: it falls back to TBW102, or says so."""
    topic = names.topic("missing")
    text = header.format(code=105, topic=topic, ext=json.dumps({"topic": topic}), version=407)
    answer, body = new_life(ask(client, text))
    assert (answer["code"], body) == (17, b"")
    assert answer["remark"].startswith(f"No topic route info in name server for the topic: {topic}")


def test_a_wide_route_stays_below_the_limits_of_new_life(own_server: NameServer, names: Names) -> None:
    """It drops frames above 4 MiB and headers above 8 KiB: 1,000 brokers stay below."""
    with own_server.connect() as client:
        body = compressed_body([topic_config(names.topic(name)) for name in TWO_TOPICS])
        for number in range(1000):
            answer = register_with(client, names, body, compressed="true", brokerName=f"{names.broker}-{number}")
            assert answer.code == 0
        _, route = new_life(ask(client, NEW_LIFE.format(topic=names.topic(), version=407)))
    assert route.count(b'"brokerAddrs"') == 1000
