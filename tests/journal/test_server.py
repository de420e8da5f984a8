"""A server with a journal, over sockets: its records, and that it writes no record without a change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.wire import Client, eventually
from rocketns.journal.lookups import LookupCounters, LookupRow
from tests.behaviour.calls import put_kv, update_settings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, query_version, registered, unregister
from tests.journal.files import records_of
from tests.journal.replay import Record, check_columns, check_sequence, kinds
from tests.processor.asking import World
from tests.support.inprocess import TimedServer
from tests.support.starting import stopped_after
from tests.timed.steps import pass_time

HOUR_MS, MINUTE_MS = 3_600_000, 60_000


@pytest.fixture
def serve(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., TimedServer]:
    """A server whose journal is in ``tmp_path / "j"``, and that restores nothing; stopped after the test."""
    settings = {
        "journalPath": tmp_path / "j",
        "journalNs": "n1",
        "serverChannelMaxIdleTimeSeconds": 10**6,
        "rocketns.restore": "false",
    }
    return stopped_after(request, lambda **properties: TimedServer(tmp_path, settings | properties))


def ask(client: Client, topic: str, **header: object) -> int:
    return client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, **header).code


def of_kind(records: list[Record], kind: str) -> list[Record]:
    return [one for one in records if one["ev"] == kind]


def checked(root: Path) -> list[Record]:
    """All records of closed files. Each keeps the contract and none is missing."""
    records = records_of(root)
    for one in records:
        check_columns(one)
    check_sequence(records)
    return records


def test_the_journal_writes_registrations_in_order(
    serve: Callable[..., TimedServer], names: Names, tmp_path: Path
) -> None:
    server = serve()
    with server.connect() as client:
        registered(client, names)
        pass_time(server, 30_000)
        registered(client, names)
        server.advance(1_000)
        heartbeat(client, names)
        server.advance(500)
        query_version(client, names, {"timestamp": 1, "counter": 1, "stateVersion": 0})
        put_kv(client, "ns", "k", "v")
        update_settings(client, "enableTopicList=false")
        unregister(client, names)
        tables = server.controller.core.context.tables
        eventually(lambda: not server.call(lambda: dict(tables.broker_live_table)))
    server.stop()
    records = checked(tmp_path / "j")
    assert kinds(records) == [
        "open", "start", "reg", "tput", "hb", "hb", "hb", "kv", "admin", "config", "admin", "down", "tdel", "stop",
    ]  # fmt: skip
    assert [one["gap"] for one in of_kind(records, "hb")] == [30_000, 1_000, 500]
    assert of_kind(records, "down")[0]["cause"] == "unregister"
    moments = [one["ts"] // 1000 - records[0]["boot"] for one in records if one["ev"] != "seal"]
    assert moments[2:9] == [0, 0, 30_000, 31_000, *[31_500] * 3]


def test_lookups_are_counted_by_topic_and_client_kind(
    serve: Callable[..., TimedServer], names: Names, tmp_path: Path
) -> None:
    server = serve()
    topic, missing = names.topic(), names.topic("none")
    with server.connect() as client:
        registered(client, names, ["T", "U"])
        for _ in range(3):
            assert ask(client, topic) == codes.SUCCESS
        assert ask(client, missing, version=400) == codes.TOPIC_NOT_EXIST
        server.advance(MINUTE_MS)
        eventually(lambda: server.call(lambda: not server.controller.journal._work))
        assert ask(client, topic) == codes.SUCCESS
        server.advance(10_000)
        server.stop()
    rows = of_kind(checked(tmp_path / "j"), "lookup")
    shown = [(one["topic"], one["n"], one["miss"], one["cv"], one["lang"], one["iv_ms"]) for one in rows]
    assert sorted(shown[:2]) == sorted([(topic, 3, 0, 513, "JAVA", MINUTE_MS), (missing, 1, 1, 400, "JAVA", MINUTE_MS)])
    assert shown[2:] == [(topic, 1, 0, 513, "JAVA", 10_000)]
    assert not any("client" in one for one in rows)


def test_lookups_beyond_the_bound_keep_their_misses(
    serve: Callable[..., TimedServer], names: Names, tmp_path: Path
) -> None:
    server = serve(journalLookupKeysMax=1)
    with server.connect() as client:
        registered(client, names, ["T", "U"])
        for topic in ("T", "U", "none", "nothing"):
            ask(client, names.topic(topic))
        server.stop()
    rows = of_kind(checked(tmp_path / "j"), "lookup")
    assert [(one["topic"], one["n"], one["miss"]) for one in rows] == [(names.topic(), 1, 0), ("*", 3, 2)]


def test_peers_cannot_change_the_place_of_the_journal(serve: Callable[..., TimedServer], tmp_path: Path) -> None:
    server = serve()
    with server.connect() as client:
        assert update_settings(client, f"journalPath={tmp_path / 'elsewhere'}").code == codes.NO_PERMISSION
        assert update_settings(client, "journalNs=n2").code == codes.NO_PERMISSION


CLIENT = "10.0.0.1:5000"


def test_lookups_that_control_answers_are_counted(tmp_path: Path) -> None:
    """Those over TLS, for instance."""
    world = World(tmp_path)
    counters = LookupCounters(100, by_client=False)
    world.context.count_lookup = counters.count
    world.register("T", "U")
    for topic in ("T", "T", "none"):
        world.ask(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    assert [(one.topic, one.n, one.miss) for one in counters.drain()] == [("T", 2, 0), ("none", 1, 1)]


def test_lookups_beyond_the_bound_share_one_row() -> None:
    counters = LookupCounters(2, by_client=False)
    for topic in ("a", "b", "c", "d", "a"):
        counters.count(topic, CLIENT, "JAVA", 1, topic == "d")
    counters.merge([("e", None, "JAVA", 1, 5, 5), ("b", None, "JAVA", 1, 5, 0)])
    assert counters.drain() == [
        LookupRow("a", None, "JAVA", 1, 2, 0),
        LookupRow("b", None, "JAVA", 1, 6, 0),
        LookupRow("*", "*", None, None, 7, 6),
    ]
    counters.count("c", CLIENT, "JAVA", 1, False)
    assert counters.drain() == [LookupRow("c", None, "JAVA", 1, 1, 0)]


def test_text_that_no_client_has_is_not_kept() -> None:
    counters = LookupCounters(100, by_client=False)
    counters.count("x" * 256, CLIENT, "JAVA", 1, True)
    counters.count("a", CLIENT, "x" * 33, 1, True)
    assert counters.drain() == [LookupRow("*", "*", None, None, 2, 2)]
