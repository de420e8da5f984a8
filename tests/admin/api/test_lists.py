"""What the lists of the API say of brokers, topics, routes, connections and settings."""

from __future__ import annotations

from collections.abc import Callable

import orjson
import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from rocketns.config.sections import OWN_NAMES
from tests.admin.api.conftest import Ask, get
from tests.admin.conftest import Managed
from tests.admin.population import V4_9_4, Broker


def test_a_broker_has_its_version_its_times_and_its_connection(managed: Managed, ask: Ask) -> None:
    began = managed.clock.now().epoch_ms
    with Broker(managed, "broker-a", version=V4_9_4) as broker:
        broker.register(["T"], heartbeatTimeoutMillis=10_000)
        managed.advance(3000)
        (row,) = ask("brokers")["items"]
        peer = f"127.0.0.1:{broker.client.socket.getsockname()[1]}"
    assert row == {
        "cluster": "C1", "broker": "broker-a", "id": 0, "address": "10.0.0.1:10911", "role": "master", "zone": None,
        "state": "live", "unconfirmed": None, "since": began, "lastHeartbeat": began, "silentMs": 3000,
        "timeoutMs": 10_000, "version": 401, "versionName": "4.9.4", "connection": peer,
        "haAddress": "10.0.0.1:10912",
    }  # fmt: skip


def test_a_broker_is_late_after_more_than_half_of_its_time_out_and_live_with_its_next_heartbeat(
    managed: Managed, ask: Ask
) -> None:
    with Broker(managed, "broker-a") as broker:
        broker.register(heartbeatTimeoutMillis=10_000)
        managed.advance(5_501)
        assert [row["state"] for row in ask("brokers")["items"]] == ["late"]
        broker.beat()
        (row,) = ask("brokers", state="live")["items"]
    assert (row["silentMs"], row["since"]) == (0, row["lastHeartbeat"] - 5501)


def test_a_cluster_counts_its_groups_and_brokers(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as one, Broker(managed, "a", 1, addr="10.0.0.2:1") as two:
        one.register()
        two.register()
        assert ask("clusters")["items"] == [
            {"cluster": "C1", "groups": 1, "brokers": 2, "masters": 1, "late": 0, "unconfirmed": 0}
        ]


def test_a_topic_has_the_queues_of_all_its_groups(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as one, Broker(managed, "b", addr="10.0.0.2:1") as two:
        one.register(["T", "U"], queues=4)
        two.register(["T"], queues=8)
        wiped = one.client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "a"})
        assert wiped.code == 0
        rows = ask("topics", q="t", limit=1)["items"]
    assert rows == [{"topic": "T", "brokers": 2, "readQueues": 12, "writeQueues": 12, "notWritable": 1}]


def test_a_route_names_the_addresses_and_queues_of_each_group(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as one, Broker(managed, "a", 1, addr="10.0.0.2:1") as two:
        one.register(["T"])
        two.register(["T"])
        route = ask("route", topic="T")
    assert route["queues"] == [
        {"broker": "a", "cluster": "C1", "zone": None, "addresses": {"0": "10.0.0.1:10911", "1": "10.0.0.2:1"},
         "readQueues": 4, "writeQueues": 4, "readable": True, "writable": True, "sysFlag": 0}
    ]  # fmt: skip
    assert route["orderConfiguration"] is None


def test_an_unknown_topic_has_no_route(managed: Managed) -> None:
    answer = get(managed, "route", topic="nobody has it")
    assert (answer.status, answer.text) == (404, '{"error":"there is no topic \'nobody has it\'"}')


def test_a_connection_tells_who_it_is_and_what_it_registered(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as broker, managed.connect() as client:
        broker.register()
        client.request(codes.GET_NAMESRV_CONFIG, language="GO", version=V4_9_4)
        client.request(codes.GET_NAMESRV_CONFIG, language="NO SUCH LANGUAGE" * 1000, version=V4_9_4)
        rows = ask("connections", sort="requests")["items"]
    assert [(row["language"], row["versionName"], row["requests"], row["brokers"]) for row in rows] == [
        ("JAVA", "5.5.0", 1, ["10.0.0.1:10911"]),
        ("OTHER", "4.9.4", 2, []),
    ]
    assert {row["since"] for row in rows} == {managed.clock.now().epoch_ms}


def test_a_client_that_only_looks_up_tells_its_language_and_version(managed: Managed, ask: Ask) -> None:
    """A reactor answers the request, and reports it to control once."""
    with managed.connect() as client:
        for topic in ("T", "T", "U"):
            client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, language="GO", version=V4_9_4)
        managed.advance(0)  # control reads the reactor's message
        (row,) = ask("connections")["items"]
    assert (row["language"], row["versionName"]) == ("GO", "4.9.4")


@pytest.mark.parametrize("reactors", [0, 2], ids=["loop", "reactors"])
def test_the_requests_of_a_connection_contain_its_lookups(start_managed: Callable[..., Managed], reactors: int) -> None:
    """Reactors answer most of them without control; a topic without a route counts too."""
    managed = start_managed({"rocketns.reactors": reactors})
    with Broker(managed, "a") as broker, managed.connect() as client, managed.connect() as other:
        broker.register(["T"])
        for topic in ("T", "T", "U"):
            client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
        client.request(codes.GET_NAMESRV_CONFIG)
        other.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        managed.advance(0)  # control reads the reactors' messages
        rows = orjson.loads(get(managed, "connections", sort="requests").body)["items"]
        peers = [f"127.0.0.1:{one.socket.getsockname()[1]}" for one in (broker.client, other, client)]
    assert {row["peer"]: row["requests"] for row in rows} == dict(zip(peers, [1, 1, 4], strict=True))


def test_a_kv_item_is_listed_with_a_bounded_part_of_its_value(managed: Managed, ask: Ask) -> None:
    with managed.connect() as client:
        fields = {"namespace": "ns", "key": "k", "value": "v" * 5000}
        assert client.request(codes.PUT_KV_CONFIG, fields).code == 0
    (row,) = ask("kv", namespace="ns")["items"]
    assert (row["key"], len(row["value"]), row["characters"]) == ("k", 4096, 5000)


def test_properties_are_listed_and_passwords_are_not(managed: Managed, ask: Ask) -> None:
    managed.controller.configuration.extra["tls.some.keyPassword"] = "secret"
    rows = {row["name"]: row["value"] for row in ask("config", limit=500)["items"]}
    assert rows["listenPort"] == str(managed.port)
    assert rows["rocketns.adminPort"] == str(managed.http.port)
    assert rows["tls.some.keyPassword"] is None
    assert rows.keys() >= OWN_NAMES


def test_limits_are_listed_with_their_units(ask: Ask) -> None:
    (row,) = ask("limits", q="rocketns.connectionsMax")["items"]
    assert (row["unit"], row["atLimit"]) == ("connections", "further ones are closed at once")


def test_a_name_that_is_no_valid_unicode_is_shown_with_its_escape(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as broker:
        body = register_body([topic_config("TOPIC-1"), topic_config("TOPIC-2")]).replace(b"TOPIC", b"\\ud800")
        fields = register_ext("C1", "a", body=body)
        assert broker.client.request(codes.REGISTER_BROKER, fields, body, version=513).code == 0
        assert [row["topic"] for row in ask("topics", q="-1")["items"]] == ["\\ud800-1"]
