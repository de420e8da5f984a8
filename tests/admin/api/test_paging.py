"""Pages, filters and orders."""

from __future__ import annotations

import pytest

from tests.admin.api.conftest import Ask, get
from tests.admin.conftest import Managed
from tests.admin.population import Broker

TOPICS = [f"topic-{number:04}" for number in range(2345)]


def test_pages_follow_each_other_in_order_without_a_gap(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as broker:
        broker.register(TOPICS)
        found = [ask("topics", q="topic-", offset=at, limit=500, sort="-topic") for at in range(0, 3000, 500)]
    assert [row["topic"] for page in found for row in page["items"]] == TOPICS[::-1]
    assert {page["total"] for page in found} == {2345}


def test_a_filter_counts_what_it_finds(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as broker:
        broker.register(TOPICS)
        page = ask("topics", q="TOPIC-000", limit=3)
    assert ([row["topic"] for row in page["items"]], page["total"]) == (TOPICS[:3], 10)


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"limit": 0}, "limit must be a number from 1 to 500"),
        ({"limit": 501}, "limit must be a number from 1 to 500"),
        ({"limit": "9" * 3000}, "limit must be"),
        ({"limit": "\u0663"}, "limit must be"),
        ({"offset": -1}, "offset must be"),
        ({"sort": "__class__"}, "sort must be one of"),
        ({"state": "ill"}, "state must be one of live, late, unconfirmed, gone"),
        ({"q": "x" * 513}, "q has more than 512 characters"),
        ({"nothing": 1}, "there is no parameter 'nothing'"),
    ],
)
def test_a_wrong_parameter_is_named(managed: Managed, parameters: dict[str, object], why: str) -> None:
    answer = get(managed, "brokers", **parameters)
    assert answer.status == 400
    assert why in answer.text


def test_a_parameter_that_is_given_twice_is_refused(managed: Managed) -> None:
    answer = managed.http.ask("/api/v1/brokers?limit=1&limit=2")
    assert (answer.status, answer.text) == (400, '{"error":"limit is given more than once"}')
