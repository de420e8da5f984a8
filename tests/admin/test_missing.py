"""Topics that were asked for and have no route, over the wire: answered by reactors and by control."""

from __future__ import annotations

import logging
from typing import Any

import orjson
import pytest

from interop.harness import codes
from interop.harness.wire import Client, eventually
from tests.admin.conftest import Broker, Managed, get

pytestmark = pytest.mark.usefixtures("no_old_numbers")

FAQ = "https://rocketmq.apache.org/docs/bestPractice/06FAQ"
NOTHING = f"No topic route info in name server for the topic: {{}}\nSee {FAQ} for further details."


def look_up(client: Client, *topics: str) -> None:
    for topic in topics:
        answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
        assert (answer.code, answer.remark) == (17, NOTHING.format(topic))


def rows(managed: Managed, **parameters: object) -> list[dict[str, Any]]:
    """After the next second, when names were looked for."""
    managed.advance(1_000)

    def read() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = orjson.loads(get(managed, "missing", **parameters).body)["items"]
        return found

    eventually(lambda: all(row["nearest"] is not None for row in read()))
    return read()


def test_a_topic_without_a_route_has_a_row_and_a_line_until_it_comes(
    managed: Managed, caplog: pytest.LogCaptureFixture
) -> None:
    with Broker(managed, "a") as broker, managed.connect() as client, caplog.at_level(logging.INFO, "rocketns.missing"):
        broker.register(["OrderPaid", "TBW102"])
        look_up(client, "OrderPayed", "OrderPayed")
        [row] = rows(managed)
        peer = f"127.0.0.1:{client.socket.getsockname()[1]}"
        assert row == {
            "topic": "OrderPayed", "sinceMs": row["sinceMs"], "lastMs": row["sinceMs"], "lookups": 2, "peers": [peer],
            "nearest": ["OrderPaid"], "reason": "created",
        }  # fmt: skip
        assert orjson.loads(get(managed, "status").body)["missingTopics"] == 1
        assert managed.scrape()("rocketns_missing_topics") == 1
        [line] = [one for one in caplog.messages if one.startswith("no route for the topic OrderPayed")]
        assert peer in line
        broker.register(["OrderPaid", "TBW102", "OrderPayed"])
        assert rows(managed) == []
        assert managed.scrape()("rocketns_missing_topics") == 0


def test_a_flood_of_names_leaves_others_theirs(managed: Managed) -> None:
    """More names than a reactor keeps in a second come before and after the one of another host."""
    with managed.connect() as flood, Client(managed.port, source="127.0.0.2") as client:
        look_up(flood, *(f"flood-{number}" for number in range(300)))
        look_up(client, "Order")
        look_up(flood, *(f"flood-{number}" for number in range(300, 600)))
        managed.advance(1_000)
        found = {row["topic"]: row for row in rows(managed, limit=500)}
        assert "Order" in found
        assert found["Order"]["peers"][0].startswith("127.0.0.2")
        assert len(found) <= 2 * 32
