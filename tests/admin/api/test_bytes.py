"""Bytes of an answer: names from the network may be long, and their characters may take six bytes each."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from rocketns.admin.api import answers, copies, handlers, paging, tables
from rocketns.admin.api.paging import CHUNK_ROWS
from tests.admin.api.conftest import Ask, get
from tests.admin.conftest import Managed
from tests.admin.population import Broker
from tests.behaviour.calls import put_kv

NAME = "\x01" * 4_000


def register_many(broker: Broker, count: int) -> None:
    """Many broker groups with long names, all with the topic T."""
    body = register_body([topic_config("T"), topic_config("U")])
    for number in range(count):
        fields = register_ext(NAME, f"{number:03}{NAME}", f"10.0.{number}.1:10911{NAME}", 0, body, zoneName=NAME)
        assert broker.client.request(codes.REGISTER_BROKER, fields, body).code == 0


def test_a_page_ends_before_its_limit_and_says_where_the_next_one_begins(managed: Managed, ask: Ask) -> None:
    found, offset = [], 0
    with Broker(managed, "a") as broker:
        register_many(broker, 100)
        while offset is not None:
            answer = get(managed, "brokers", limit=500, offset=offset)
            assert len(answer.body) <= answers.PAGE_BYTES_MAX + 200
            page = ask("brokers", limit=500, offset=offset)
            assert page["total"] == 100
            found += [row["broker"][:3] for row in page["items"]]
            offset = page["next"]
    assert found == [f"{number:03}" for number in range(100)]


def test_a_row_that_is_too_large_for_a_page_has_one_of_its_own(
    managed: Managed, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "PAGE_BYTES_MAX", 100)
    with Broker(managed, "a") as broker:
        broker.register(["b", "c"])
        page = ask("topics")
    assert (len(page["items"]), page["total"], page["next"]) == (1, 4, 1)


def test_the_last_page_has_no_next(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as broker:
        broker.register(["b", "c"])
        assert (ask("topics", limit=3)["next"], ask("topics", limit=3, offset=3)["next"]) == (3, None)
        assert ask("topics", offset=400)["next"] is None


def test_a_long_name_is_cut_and_says_so(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "n" * 4_000) as broker:
        broker.register()
        (row,) = ask("brokers")["items"]
    assert row["broker"] == "n" * answers.NAME_CHARACTERS_MAX + "… (cut, 4000 characters)"


def test_a_value_is_not_cut_as_a_name_is(managed: Managed, ask: Ask) -> None:
    with managed.connect() as client:
        put_kv(client, "n", "k", "v" * 4_000)
        assert ask("kv")["items"][0]["value"] == "v" * 4_000


def test_a_route_leaves_out_what_makes_it_too_long_and_counts_it(
    managed: Managed, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "ROUTE_BYTES_MAX", 200_000)
    with Broker(managed, "a") as broker:
        register_many(broker, 30)
        route = ask("route", topic="T")
    assert 0 < len(route["queues"]) < 30
    assert len(route["queues"]) + route["leftOut"] == 30


def test_queues_of_many_brokers_are_counted_in_more_than_one_look(
    managed: Managed, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "ENTRIES_AT_ONCE", 3)
    real, looks = copies.add_queues, []
    monkeypatch.setattr(
        copies, "add_queues", lambda one, rows: (looks.append([row.brokers for row in rows]), real(one, rows))[1]
    )
    with Broker(managed, "a") as broker:
        register_many(broker, 5)
        broker.register(["V", "W"])
        counted = {row["topic"]: (row["brokers"], row["writeQueues"]) for row in ask("topics")["items"]}
    assert counted["T"] == (5, 40)
    assert counted["V"] == (1, 4)
    assert all(sum(look) <= 3 or len(look) == 1 for look in looks)
    assert max(map(sum, looks)) == 5


def test_rows_far_behind_are_found(managed: Managed, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows before them are passed over in pieces."""
    monkeypatch.setattr(paging, "CHUNK_ROWS", 7)
    assert CHUNK_ROWS > 7
    with Broker(managed, "a") as broker:
        broker.register([f"t{number:02}" for number in range(60)])
        assert [row["topic"] for row in ask("topics", q="t", offset=50, limit=3)["items"]] == ["t50", "t51", "t52"]
