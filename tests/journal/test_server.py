"""A server with a journal, over sockets: its records, and that it writes no record without a change."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Client, eventually
from rocketns.journal.lookups import LookupCounters, LookupRow
from tests.behaviour.calls import put_kv, update_settings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, query_version, registered, unregister
from tests.journal.files import closed_files, contents, is_written, open_files, records_of
from tests.journal.replay import Record, State, check_columns, check_sequence, kinds
from tests.processor.asking import World
from tests.support.inprocess import TimedServer
from tests.support.needs import not_run
from tests.timed.steps import pass_time

HOUR_MS, MINUTE_MS = 3_600_000, 60_000


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


def test_clients_are_named_on_demand(serve: Callable[..., TimedServer], names: Names, tmp_path: Path) -> None:
    server = serve(journalLookupClients="true", journalLookupKeysMax=1)
    with server.connect() as client:
        for topic in ("a", "a", "b"):
            ask(client, names.topic(topic))
        host, port = client.socket.getsockname()[:2]
        server.stop()
    rows = of_kind(checked(tmp_path / "j"), "lookup")
    assert [(one["topic"], one["client"], one["n"]) for one in rows] == [
        (names.topic("a"), f"{host}:{port}", 2), ("*", "*", 1),
    ]  # fmt: skip


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


def test_peers_cannot_change_the_place_of_the_journal(serve: Callable[..., TimedServer], tmp_path: Path) -> None:
    server = serve()
    with server.connect() as client:
        assert update_settings(client, f"journalPath={tmp_path / 'elsewhere'}").code == codes.NO_PERMISSION
        assert update_settings(client, "journalNs=n2").code == codes.NO_PERMISSION


CLIENT = "10.0.0.1:5000"


def test_lookups_that_control_answers_are_counted(tmp_path: Path) -> None:
    """Those over TLS, for instance."""
    world = World(tmp_path)
    world.context.lookups = LookupCounters(100, by_client=False)
    world.register("T", "U")
    for topic in ("T", "T", "none"):
        world.ask(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    assert [(one.topic, one.n, one.miss) for one in world.context.lookups.drain()] == [("T", 2, 0), ("none", 1, 1)]


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


WRITE_MS = 20
ROTATION_BYTES = 20_000
LAST = 5  # puts that a kill may take with it; they have room in the open file


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., RocketnsServer]]:
    """A server with its journal in ``tmp_path / "j"`` unless told otherwise."""
    started: list[RocketnsServer] = []

    def run(**properties: object) -> RocketnsServer:
        settings = {"journalPath": tmp_path / "j", "journalNs": "n1", "journalFsyncMs": WRITE_MS} | properties
        started.append(RocketnsServer(tmp_path / "ns", settings))
        return started[-1]

    yield run
    for server in started:
        server.kill()


def put_and_written(client: Client, root: Path) -> int:
    """Put the values 0, 1, 2 … until some files are full and all is written, the last into a new one; how many."""
    for number in itertools.count():
        put_kv(client, "ns", "k", str(number))
        if len(closed_files(root)) > 1:
            value = b'"val":"%d"' % number
            eventually(partial(is_written, root, value))
            if any(value in data and len(data) < ROTATION_BYTES // 2 for data in contents(open_files(root))):
                return number + 1
    raise AssertionError


def values(records: list[Record]) -> list[str]:
    return [one["val"] for one in records if one["ev"] == "kv"]


@pytest.mark.slow
@pytest.mark.parametrize("torn", [b"", b'{"boot":1,"se', b"\0" * 4096])
def test_a_kill_while_it_writes_takes_the_last_moment_only(
    start: Callable[..., RocketnsServer], tmp_path: Path, torn: bytes
) -> None:
    """The next start repairs the file. ``torn`` is a line that reached the disk only in part."""
    server = start(journalRotationBytes=ROTATION_BYTES)
    with server.connect() as client:
        safe = put_and_written(client, tmp_path / "j")
        for number in range(safe, safe + LAST):
            put_kv(client, "ns", "k", str(number))
        server.kill()
    (left,) = open_files(tmp_path / "j")
    before = left.read_bytes()
    with left.open("ab") as file:
        file.write(torn)
    server.start()
    eventually(lambda: not left.exists())
    server.stop()
    whole = before[: before.rfind(b"\n") + 1]
    assert left.with_name(left.name.removeprefix(".open-") + ".jsonl").read_bytes() == whole
    boots = [list(some) for _, some in itertools.groupby(records_of(tmp_path / "j"), lambda one: one["boot"])]
    assert [kinds(some)[1] for some in boots] == ["start", "start"]
    assert [kinds(some)[-1] in end for some, end in zip(boots, (("kv", "admin"), ("stop",)), strict=True)] == [True] * 2
    for some in boots:
        check_sequence(some)
    written = values(boots[0])
    assert written == [str(number) for number in range(len(written))]
    assert safe <= len(written) <= safe + LAST


def put_large(client: Client, number: int) -> None:
    assert (
        client.request(codes.PUT_KV_CONFIG, {"namespace": "ns", "key": "k", "value": f"{number}".rjust(2_000)}).code
        == 0
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB, all but 128 KiB of which a file takes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "journal-test", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        not_run("no permission to mount a small file system here")
    (folder / "ballast").write_bytes(b"x" * 384 * 1024)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_is_survived_and_what_it_cost_is_stated(
    small_disk: Path, start: Callable[..., RocketnsServer]
) -> None:
    root = small_disk / "j"
    server = start(journalPath=root, journalBufferBytes=65_536)
    with server.connect() as client:
        for number in range(200):  # 400 KB of records
            put_large(client, number)
        eventually(lambda: "the journal cannot be written" in server.process.text())
        eventually(lambda: "records are lost" in server.process.text())
        (small_disk / "ballast").unlink()
        eventually(lambda: "can be written again" in server.process.text())
        eventually(lambda: "records of the journal were lost, up to seq" in server.process.text())
        eventually(lambda: is_written(root, b'"ev":"drop"'))
        put_large(client, 200)
    assert server.stop() == 0
    said = server.process.text()
    assert said.count("the journal cannot be written") == 1
    records = records_of(root)
    for one in records:
        check_columns(one)
    check_sequence(records)
    lost = sum(one["lost"] for one in records if one["ev"] == "drop")
    kept = [int(value) for value in values(records)]
    assert lost > 0
    assert kept[-1] == 200
    assert (
        len(kept) + sum(one["ev"] == "admin" for one in records) + lost == 2 * 201
    )  # each has a record of its request
    assert records[-1]["ev"] == "stop"


@pytest.mark.slow
def test_two_servers_with_one_id_do_not_touch_each_others_files(
    start: Callable[..., RocketnsServer], tmp_path: Path
) -> None:
    first, second = start(), start(kvConfigPath=tmp_path / "kv2.json")
    eventually(lambda: "the journal cannot be written" in second.process.text())
    with first.connect() as client:
        put_kv(client, "ns", "k", "v")
    assert first.stop() == 0
    check_sequence(records_of(tmp_path / "j"))
    eventually(lambda: open_files(tmp_path / "j"))
    assert second.stop() == 0
    assert len(closed_files(tmp_path / "j")) == 2
