"""A server with a journal, over sockets: its records, and that it writes no record without a change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.wire import Client, eventually
from tests.behaviour.calls import put_kv, update_settings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, query_version, registered, unregister
from tests.journal.files import closed_files, records_of
from tests.journal.replay import Record, State, check_columns, check_sequence, kinds
from tests.support.inprocess import TimedServer
from tests.timed.steps import pass_time

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
# The thread that answers a lookup counts it: control in Python, or a reactor.
both_lanes = pytest.mark.parametrize("reactors", [0, 2], ids=["loop", "reactors"])


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., TimedServer]]:
    """A server whose journal is in ``tmp_path / "j"``, and that restores nothing; stopped after the test."""
    started: list[TimedServer] = []

    def start(**properties: object) -> TimedServer:
        settings = {
            "journalPath": tmp_path / "j",
            "journalNs": "n1",
            "serverChannelMaxIdleTimeSeconds": 10**6,
            "rocketns.restore": "false",
        }
        started.append(TimedServer(tmp_path, settings | properties))
        return started[-1]

    yield start
    for server in started:
        if server.loop.is_running():
            server.stop()


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


def test_a_value_that_stays_the_same_has_no_record(serve: Callable[..., TimedServer], tmp_path: Path) -> None:
    """A tool that repeats its configuration every minute changes nothing, nor does deleting an absent key."""
    server = serve()
    with server.connect() as client:
        for value in ("v", "v", "w", "v"):
            put_kv(client, "ns", "k", value)
        for key in ("k", "k", "never", "null"):
            assert client.request(codes.DELETE_KV_CONFIG, {"namespace": "ns", "key": key}).code == codes.SUCCESS
        for _ in range(2):
            assert client.request(codes.PUT_KV_CONFIG, {"namespace": "ns", "key": "null"}).code == codes.SUCCESS
    server.stop()
    written = [(one["key"], one.get("val")) for one in of_kind(checked(tmp_path / "j"), "kv")]
    assert written == [("k", "v"), ("k", "w"), ("k", "v"), ("k", None)]


def test_a_restart_writes_the_items_of_the_servers_file(serve: Callable[..., TimedServer], tmp_path: Path) -> None:
    server = serve()
    with server.connect() as client:
        put_kv(client, "ns", "k", "v")
    server.stop()
    serve().stop()
    records = records_of(tmp_path / "j")
    restarted = [one for one in records if one["boot"] == max(each["boot"] for each in records)]
    assert kinds(restarted) == ["open", "start", "kv", "stop"]
    assert State().apply(restarted).kv == {("ns", "k"): "v"}


def test_the_journal_replayed_is_what_the_server_holds(
    serve: Callable[..., TimedServer], names: Names, tmp_path: Path
) -> None:
    server = serve()
    with server.connect() as client:
        for host in range(1, 4):
            registered(client, names, [f"T{number}" for number in range(host * 2)], host=host, broker_id=host - 1)
        server.call(lambda: None)
        tables = server.controller.core.context.tables
        server.stop()
    state = State().apply(one for one in checked(tmp_path / "j") if one["ev"] != "stop")
    assert len(state.shown()["groups"]) == 1
    state.check(tables)


@both_lanes
def test_lookups_are_counted_by_topic_and_client_kind(
    serve: Callable[..., TimedServer], names: Names, tmp_path: Path, reactors: int
) -> None:
    server = serve(**{"rocketns.reactors": reactors})
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


@both_lanes
def test_clients_are_named_on_demand(
    serve: Callable[..., TimedServer], names: Names, tmp_path: Path, reactors: int
) -> None:
    server = serve(**{"rocketns.reactors": reactors}, journalLookupClients="true", journalLookupKeysMax=1)
    with server.connect() as client:
        for topic in ("a", "a", "b"):
            ask(client, names.topic(topic))
        host, port = client.socket.getsockname()[:2]
        server.stop()
    rows = of_kind(checked(tmp_path / "j"), "lookup")
    assert [(one["topic"], one["client"], one["n"]) for one in rows] == [
        (names.topic("a"), f"{host}:{port}", 2), ("*", "*", 1),
    ]  # fmt: skip


@both_lanes
def test_lookups_beyond_the_bound_keep_their_misses(
    serve: Callable[..., TimedServer], names: Names, tmp_path: Path, reactors: int
) -> None:
    server = serve(**{"rocketns.reactors": reactors}, journalLookupKeysMax=1)
    with server.connect() as client:
        registered(client, names, ["T", "U"])
        for topic in ("T", "U", "none", "nothing"):
            ask(client, names.topic(topic))
        server.stop()
    rows = of_kind(checked(tmp_path / "j"), "lookup")
    assert [(one["topic"], one["n"], one["miss"]) for one in rows] == [(names.topic(), 1, 0), ("*", 3, 2)]


def test_lookups_are_not_counted_where_they_are_not_wanted(
    serve: Callable[..., TimedServer], names: Names, tmp_path: Path
) -> None:
    server = serve(journalLookupSeconds=0)
    with server.connect() as client:
        ask(client, names.topic())
        server.advance(5 * MINUTE_MS)
        server.stop()
    assert of_kind(checked(tmp_path / "j"), "lookup") == []


def test_a_server_without_a_journal_has_nothing_of_it(tmp_path: Path) -> None:
    before = threading.enumerate()  # another test's may still be ending
    server = TimedServer(tmp_path)
    try:
        assert server.controller.journal is None
        assert server.controller.core.context.lookups is None
        assert "journal" not in {thread.name for thread in threading.enumerate() if thread not in before}
    finally:
        server.stop()


def test_a_day_of_time_has_every_number_every_hour_and_both_days(
    serve: Callable[..., TimedServer], names: Names, tmp_path: Path
) -> None:
    server = serve(journalRotationSeconds=3_600, journalLookupSeconds=600)
    with server.connect() as client:
        registered(client, names, heartbeatTimeoutMillis=10**9)
        for _ in range(24 * 6):
            heartbeat(client, names)
            ask(client, names.topic())
            server.advance(10 * MINUTE_MS)
            eventually(lambda: server.call(lambda: not server.controller.journal._work))
        server.stop()
    records = checked(tmp_path / "j")
    assert len(of_kind(records, "hb")) == 24 * 6
    assert sum(one["n"] for one in of_kind(records, "lookup")) == 24 * 6
    assert sum(one.get("end", False) for one in of_kind(records, "snap")) == 24
    hours = [one["ts"] // 1000 // HOUR_MS for one in of_kind(records, "snap") if one["part"] == 0]
    assert hours == list(range(hours[0], hours[0] + 24))
    days = [path.parent.parent.name for path in closed_files(tmp_path / "j")]
    assert set(days) == {"dt=2023-11-14", "dt=2023-11-15"}
    assert 24 <= len(days) <= 27


def test_another_start_writes_on_beside_what_is_there(serve: Callable[..., TimedServer], tmp_path: Path) -> None:
    """The clock shows the same time, and the boots still differ."""
    for _ in range(3):
        serve().stop()
    boots = [one["boot"] for one in records_of(tmp_path / "j") if one["ev"] == "start"]
    assert len(set(boots)) == 3
    assert sorted(boots) == boots


def test_peers_cannot_change_the_place_of_the_journal(serve: Callable[..., TimedServer], tmp_path: Path) -> None:
    server = serve()
    with server.connect() as client:
        assert update_settings(client, f"journalPath={tmp_path / 'elsewhere'}").code == codes.NO_PERMISSION
        assert update_settings(client, "journalNs=n2").code == codes.NO_PERMISSION
