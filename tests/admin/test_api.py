"""The API: what the rows of its lists say, pages and filters, the bytes of an answer, and its OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from rocketns.admin import view
from rocketns.admin.api import paging
from rocketns.admin.api import route as routes
from rocketns.admin.api.handlers import ROOT, document
from tests.admin.conftest import V4_9_4, Ask, Broker, Managed, get

pytestmark = pytest.mark.usefixtures("no_old_numbers")


def test_a_broker_has_its_version_its_times_and_its_connection(managed: Managed, ask: Ask) -> None:
    began = managed.clock.now().epoch_ms
    with Broker(managed, "broker-a", version=V4_9_4) as broker:
        broker.register(["T"], heartbeatTimeoutMillis=10_000)
        managed.advance(3000)
        (row,) = ask("brokers")["items"]
        peer = f"127.0.0.1:{broker.client.socket.getsockname()[1]}"
    assert row == {
        "cluster": "C1", "broker": "broker-a", "id": 0, "address": "10.0.0.1:10911", "role": "master", "zone": None,
        "state": "live", "unconfirmed": None, "why": None, "lastHeartbeat": began, "silentMs": 3000,
        "lateMs": 5_500, "timeoutMs": 10_000, "version": 401, "versionName": "4.9.4", "connection": peer,
        "haAddress": "10.0.0.1:10912", "view": None,
    }  # fmt: skip


def test_a_topic_has_the_queues_of_all_its_groups(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as one, Broker(managed, "b", addr="10.0.0.2:1") as two:
        one.register(["T", "U"], queues=4)
        two.register(["T"], queues=8)
        wiped = one.client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "a"})
        assert wiped.code == 0
        rows = ask("topics", q="t", limit=1)["items"]
    assert rows == [{"topic": "T", "brokers": 2, "readQueues": 12, "writeQueues": 12, "notWritable": 1}]


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


def test_the_requests_of_a_connection_contain_its_lookups(start_managed: Callable[..., Managed]) -> None:
    """Reactors answer most of them without control; a topic without a route counts too."""
    managed = start_managed({"rocketns.reactors": 2})
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


TOPICS = [f"topic-{number:04}" for number in range(2345)]


def test_pages_follow_each_other_in_order_without_a_gap(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as broker:
        broker.register(TOPICS)
        found = [ask("topics", q="topic-", offset=at, limit=500, sort="-topic") for at in range(0, 3000, 500)]
    assert [row["topic"] for page in found for row in page["items"]] == TOPICS[::-1]
    assert {page["total"] for page in found} == {2345}


def test_the_topics_of_a_broker_group(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as one, Broker(managed, "b", addr="10.0.0.2:1") as two:
        one.register(["S", "T"])
        two.register(["T"])
        found = [[row["topic"] for row in ask("topics", **given)["items"]]
                 for given in ({"broker": "a"}, {"broker": "b", "q": "t"}, {"broker": "c"})]  # fmt: skip
    assert found == [["C1", "S", "T", "a"], ["T"], []]


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"limit": 0}, "limit must be a number from 1 to 500"),
        ({"limit": "9" * 3000}, "limit must be"),
        ({"limit": "\u0663"}, "limit must be"),
        ({"sort": "__class__"}, "sort must be one of"),
        ({"state": "ill"}, "state must be one of live, late, unconfirmed, gone"),
        ({"q": "x" * 513}, "q must have 0 to 512 characters"),
        ({"nothing": 1}, "there is no parameter 'nothing'"),
    ],
)
def test_a_wrong_parameter_is_named(managed: Managed, parameters: dict[str, object], why: str) -> None:
    answer = get(managed, "brokers", **parameters)
    assert answer.status == 400
    assert why in answer.text


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
            assert len(answer.body) <= paging.PAGE_BYTES_MAX + 200
            page = ask("brokers", limit=500, offset=offset)
            assert page["total"] == 100
            found += [row["broker"][:3] for row in page["items"]]
            offset = page["next"]
    assert found == [f"{number:03}" for number in range(100)]


def test_a_row_that_is_too_large_for_a_page_has_one_of_its_own(
    managed: Managed, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "PAGE_BYTES_MAX", 100)
    with Broker(managed, "a") as broker:
        broker.register(["b", "c"])
        page = ask("topics")
    assert (len(page["items"]), page["total"], page["next"]) == (1, 4, 1)


def test_a_long_name_is_cut_and_says_so(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "n" * 4_000) as broker:
        broker.register()
        (row,) = ask("brokers")["items"]
    assert row["broker"] == "n" * paging.NAME_CHARACTERS_MAX + "… (cut, 4000 characters)"


def test_a_text_that_is_no_unicode_has_its_escapes_in_place_of_the_characters() -> None:
    said = {"a\ud800": ["\udcff é", "b" * paging.NAME_CHARACTERS_MAX + "\ud800"]}
    cut = "b" * paging.NAME_CHARACTERS_MAX + "… (cut, 513 characters)"
    assert orjson.loads(paging.dumps(said)) == {"a\\ud800": ["\\udcff é", cut]}


def test_a_route_leaves_out_what_makes_it_too_long_and_counts_it(
    managed: Managed, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "ROUTE_BYTES_MAX", 200_000)
    with Broker(managed, "a") as broker:
        register_many(broker, 30)
        route = ask("route", topic="T")
    assert 0 < len(route["queues"]) < 30
    assert len(route["queues"]) + route["leftOut"] == 30


def test_queues_of_many_brokers_are_counted_in_more_than_one_slice(
    managed: Managed, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "SLICE_MS", 0.0)
    with Broker(managed, "a") as broker:
        register_many(broker, 5)
        broker.register(["V", "W"])
        counted = {row["topic"]: (row["brokers"], row["writeQueues"]) for row in ask("topics")["items"]}
    assert counted["T"] == (5, 40)
    assert counted["V"] == (1, 4)


EXAMPLES = 12
STREAMS = (f"{ROOT}/stream",)  # its answer has no end


@pytest.fixture(scope="module")
def full_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with something in each of its lists."""
    home: Path = tmp_path_factory.mktemp("openapi")
    with (
        Managed(home) as managed,
        Broker(managed, "a") as one,
        Broker(managed, "b", 1, addr="10.0.0.2:1", cluster="C2") as two,
    ):
        one.register(["T", "U"])
        two.register(["T"], heartbeatTimeoutMillis=1000)
        one.client.request(codes.PUT_KV_CONFIG, {"namespace": "n", "key": "k", "value": "v"})
        yield f"http://127.0.0.1:{managed.http.port}"


GOOD, BAD = "positive", "negative"


def cases() -> Iterator[tuple[str, str]]:
    """Each path with requests as described. A path with parameters also gets requests that break the description."""
    for path, item in document()["paths"].items():
        if path not in STREAMS:
            yield path, GOOD
            if item["get"]["parameters"]:
                yield path, BAD


@pytest.mark.slow
@pytest.mark.parametrize(("path", "mode"), list(cases()))
def test_each_answer_is_as_the_document_says(full_server: str, path: str, mode: str) -> None:
    import schemathesis

    operation = schemathesis.openapi.from_dict(document())[path]["GET"]

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
              phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    def answers(case: Any) -> None:
        case.call_and_validate(base_url=full_server)

    answers()
