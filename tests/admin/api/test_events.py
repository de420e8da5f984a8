"""The ring of the last changes."""

from __future__ import annotations

from interop.harness import codes
from interop.harness.wire import eventually
from rocketns.admin.recent import ring
from tests.admin.api.conftest import Ask
from tests.admin.conftest import Managed
from tests.admin.population import Broker


def test_a_broker_that_comes_and_goes_leaves_its_story_newest_first(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "broker-a") as broker:
        broker.register([f"t-{number}" for number in range(8)])
        broker.register([f"t-{number}" for number in range(8)])
        broker.unregister()
        managed.advance(0)
        rows = ask("events")["items"]
    assert [row["text"] for row in rows] == [
        "broker-a no longer has topics t-0, t-1, t-2, t-3, t-4 and 5 more (unregister)",
        "broker-a:0 at 10.0.0.1:10911 is gone: it said that it stops (last heard 0.0 s before)",
        "broker-a:0 at 10.0.0.1:10911 registered",
        "broker-a has topics t-0, t-1, t-2, t-3, t-4 and 5 more (register)",
    ]
    assert [row["seq"] for row in rows] == [4, 3, 2, 1]


def test_a_lost_broker_is_a_reason_to_look_until_it_is_back(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as one, Broker(managed, "b", addr="10.0.0.2:1") as other:
        one.register()
        other.register()
        assert ask("status")["level"] == "ok"
        other.client.close()
        eventually(lambda: ask("status")["lost"])
        status = ask("status")
        (reason,) = status["reasons"]
        assert (reason["level"], reason["text"]) == ("critical", "Lost in the last 10 minutes: b:0")
        assert (reason["name"], reason["names"], reason["message"]) == (
            "lost", ["b:0"], "Lost in the last 10 minutes: %(names)s",
        )  # fmt: skip
        assert [(one["broker"], one["address"], one["cause"]) for one in status["lost"]] == [
            ("b", "10.0.0.2:1", "channel_close")
        ]
    with Broker(managed, "a") as one, Broker(managed, "b", addr="10.0.0.2:1") as other:
        one.register()
        other.register()
        assert ask("status")["level"] == "ok"


def test_a_server_without_brokers_says_so(ask: Ask) -> None:
    (reason,) = ask("status")["reasons"]
    assert (reason["level"], reason["text"]) == ("critical", "No broker is registered")


def test_a_changed_item_and_a_changed_property_are_told(managed: Managed, ask: Ask) -> None:
    with managed.connect() as client:
        client.request(codes.PUT_KV_CONFIG, {"namespace": "ns", "key": "k", "value": "v"})
        client.request(codes.UPDATE_NAMESRV_CONFIG, body=b"enableTopicList=false\n")
    texts = [row["text"].removeprefix(row["address"] or "") for row in ask("events")["items"]]
    assert texts == [
        " sent UPDATE_NAMESRV_CONFIG: done", "property enableTopicList is false",
        " sent PUT_KV_CONFIG: done", "KV item ns k is v",
    ]  # fmt: skip


def test_the_ring_is_bounded_in_changes_and_in_characters(managed: Managed, ask: Ask) -> None:
    with managed.connect() as client:
        for number in range(ring.EVENTS_MAX + 5):
            client.post(codes.PUT_KV_CONFIG, {"namespace": "n", "key": "k" * 4000, "value": number})
        for _ in range(ring.EVENTS_MAX + 5):
            client.receive()
    page = ask("events", limit=1, sort="seq")  # each item has an event, and the request for it another one
    first = ring.EVENTS_MAX + 11
    assert (page["total"], page["items"][0]["seq"], len(page["items"][0]["names"][1])) == (ring.EVENTS_MAX, first, 300)
