"""What a server knows after a kill or a stop, before any broker registers again."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.ports import free_port
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.supervisor import Supervisor
from interop.harness.wire import Client, eventually
from rocketns import first_routes
from rocketns.config import Configuration
from rocketns.journal import restore
from rocketns.namesrv_controller import NamesrvController
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import ask_route, cluster_info, filter_servers, perms
from tests.journal.files import PatientServer, open_files, records_of
from tests.support.inprocess import TimedServer


def everything(client: Client, names: Names) -> Any:
    """All answers about routes, byte for byte."""
    route_bodies = [ask_route(client, names.topic(one)).body for one in "TUVW"]
    return route_bodies, cluster_info(client)


@pytest.mark.parametrize("how", ["kill", pytest.param("stop", marks=pytest.mark.slow)])
def test_routes_are_as_before(start: Callable[..., RocketnsServer], names: Names, how: str) -> None:
    """Topics and queues, wiped permissions, addresses, zones and acting masters, filter servers."""
    server = start()
    with server.connect() as client, server.connect() as slave:
        registered(client, names, ("T", "U"), filters=["10.9.9.9:1"], enableActingMaster=True)
        registered(slave, names, host=2, broker_id=1, enableActingMaster=True)
        other = Names()
        registered(client, other, (names.topic("V"), names.topic("W")))
        assert client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": other.broker}).code == 0
        before = everything(client, names)
        getattr(server, how)()
    server.start()
    with server.connect() as client:
        assert everything(client, names) == before
        assert filter_servers(client, names.topic())[names.addr()] == ["10.9.9.9:1"]
        assert set(perms(client, other.topic("V")).values()) <= {4}


WAITING = 50


@pytest.mark.parametrize("end", [NameServer.kill, NameServer.stop], ids=["killed", "stopped"])
def test_clients_that_come_while_it_is_down_wait_and_get_their_routes(
    tmp_path: Path, names: Names, settings: dict[str, object], end: Callable[[NameServer], int]
) -> None:
    """Its supervisor keeps the socket. The broker does not come back."""
    with Supervisor(str(tmp_path / "notify")) as supervisor, ExitStack() as stack:
        server = PatientServer(tmp_path / "ns", settings, supervisor=supervisor)
        stack.callback(server.stop)
        with server.connect() as broker:
            registered(broker, names)
            end(server)
        clients = [stack.enter_context(Client(supervisor.port)) for _ in range(WAITING)]
        for client in clients:
            client.post(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": names.topic()})
        server.start()
        assert [client.receive().code for client in clients] == [codes.SUCCESS] * WAITING


async def test_a_cancelled_start_does_not_go_on_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends when the reading thread does."""
    reading, ended = threading.Event(), threading.Event()

    def slow_restore(*given: object) -> None:
        cancelled = given[-1]
        assert isinstance(cancelled, threading.Event)
        reading.set()
        if cancelled.wait(60):
            ended.set()

    monkeypatch.setattr(restore, "restore", slow_restore)
    config = tmp_path / "ns.properties"
    settings = {"listenPort": 0, "bindAddress": "127.0.0.1", "kvConfigPath": tmp_path / "kv.json",
                "journalPath": tmp_path / "j"}  # fmt: skip
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), "utf-8")
    controller = NamesrvController(Configuration.build(str(config), home=tmp_path))
    starting = asyncio.ensure_future(controller.start())
    await asyncio.to_thread(reading.wait, 60)
    starting.cancel()
    await asyncio.wait({starting})
    await controller.stop()
    assert ended.wait(60)
    assert not open_files(tmp_path / "j")


def test_lookups_are_answered_and_registrations_wait(
    serve: Callable[..., TimedServer], names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never TOPIC_NOT_EXIST. The slave whose registration waited gets its master's address."""
    server = serve()
    with server.connect() as client:
        registered(client, names)
        server.stop()
    may_end, real, port = threading.Event(), restore.restore, free_port()

    def slow_restore(*given: object) -> object:
        server.clock.advance(1_500)  # so that the jobs of the first second run before requests are read
        may_end.wait(60)
        return real(*given)

    monkeypatch.setattr(first_routes, "UNHEARD_S", 1.2)
    monkeypatch.setattr(restore, "restore", slow_restore)
    with ThreadPoolExecutor(3) as others:
        starting = others.submit(serve, listenPort=port)
        eventually(lambda: not socket.socket().connect_ex(("127.0.0.1", port)))
        with Client(port) as asking, Client(port) as slave:
            assert ask_route(asking, names.topic()).code == codes.SYSTEM_ERROR
            assert ask_route(asking, "unknown").code == codes.SYSTEM_ERROR
            waiting = others.submit(registered, slave, names, host=2, broker_id=1)
            assert ask_route(asking, names.topic()).code == codes.SYSTEM_ERROR
            assert not waiting.done()
            may_end.set()
            starting.result(60)
            assert waiting.result(60).ext["masterAddr"] == names.addr()
            assert ask_route(asking, names.topic()).code == 0
            assert ask_route(asking, "unknown").code == codes.TOPIC_NOT_EXIST


def test_the_journal_begins_when_the_server_serves(
    serve: Callable[..., TimedServer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not the time when the restore began: comparisons of name servers trust its tables from the start record on."""
    real = restore.restore

    def slow_restore(*given: object) -> object:
        server.clock.advance(900)
        return real(*given)

    server = serve()
    began_ms = server.clock.now().epoch_ms
    server.stop()
    monkeypatch.setattr(restore, "restore", slow_restore)
    serve().stop()
    starts = [one["ts"] for one in records_of(tmp_path / "j") if one["ev"] == "start"]
    assert starts == [began_ms * 1000, (began_ms + 900) * 1000]


MINUTE = 60_000


@pytest.fixture
def seed(tmp_path: Path) -> Iterator[TimedServer]:
    """Another name server, which knows another broker."""
    home = tmp_path / "seed"
    home.mkdir()
    with TimedServer(home) as server:
        yield server


@pytest.fixture
def elsewhere(seed: TimedServer) -> Iterator[Names]:
    """The broker of the other name server."""
    names = Names()
    with seed.connect() as client:
        registered(client, names)
        yield names


def known_brokers(client: Client) -> set[str]:
    return set(cluster_info(client)["brokerAddrTable"])


def started_twice(serve: Callable[..., TimedServer], names: Names, later_ms: int, seeds: str) -> set[str]:
    """The brokers that a server knows at its second start, this long after its stop."""
    first = serve()
    with first.connect() as client:
        registered(client, names)
        first.stop()
    second = serve(later_ms, **{"rocketns.seedServers": seeds})
    with second.connect() as client:
        return known_brokers(client)


def test_a_young_journal_is_believed(
    serve: Callable[..., TimedServer], names: Names, seed: TimedServer, elsewhere: Names
) -> None:
    assert elsewhere.broker != names.broker
    assert started_twice(serve, names, 2 * MINUTE, f"127.0.0.1:{seed.port}") == {names.broker}


def test_another_name_server_knows_more_than_an_old_journal(
    serve: Callable[..., TimedServer], names: Names, seed: TimedServer, elsewhere: Names
) -> None:
    """Brokers that only the journal has are not added: the other name server has removed them."""
    assert started_twice(serve, names, 2 * MINUTE + 1, f"127.0.0.1:{seed.port}") == {elsewhere.broker}


def test_an_old_journal_is_better_than_nothing(serve: Callable[..., TimedServer], names: Names) -> None:
    assert started_twice(serve, names, 60 * MINUTE, "127.0.0.1:1") == {names.broker}


def test_seeded_brokers_are_in_the_journal_at_once(
    serve: Callable[..., TimedServer], seed: TimedServer, elsewhere: Names, tmp_path: Path
) -> None:
    """After a kill right after the start, the next start has these routes. They are marked as seeded."""
    server = serve(**{"rocketns.seedServers": f"127.0.0.1:{seed.port}"})
    server.stop()
    members = [one for one in records_of(tmp_path / "j") if one["ev"] == "snap" and "addr" in one]
    assert {(one["broker"], one["doubt"]) for one in members} == {(elsewhere.broker, "seeded")}
    (begun,) = [one for one in records_of(tmp_path / "j") if one["ev"] == "start"]
    assert begun["restored"] is begun["seeded"] is True
    again = serve()
    with again.connect() as client:
        assert known_brokers(client) == {elsewhere.broker}
