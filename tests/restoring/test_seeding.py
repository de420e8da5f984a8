"""The source of the routes at a start: its own journal if that is recent, another name server otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import cluster_info
from tests.journal.files import records_of
from tests.support.inprocess import TimedServer

MINUTE = 60_000


@pytest.fixture
def seed(tmp_path: Path) -> Iterator[TimedServer]:
    """Another name server, which knows another broker."""
    home = tmp_path / "seed"
    home.mkdir()
    server = TimedServer(home, {"rocketns.reactors": 0})
    yield server
    server.stop()


@pytest.fixture
def elsewhere(seed: TimedServer) -> Iterator[Names]:
    """The broker of the other name server."""
    names = Names()
    with seed.connect() as client:
        registered(client, names)
        yield names


def brokers(client: Client) -> set[str]:
    return set(cluster_info(client)["brokerAddrTable"])


def started_twice(serve: Callable[..., TimedServer], names: Names, later_ms: int, seeds: str) -> set[str]:
    """The brokers that a server knows at its second start, this long after its stop."""
    first = serve()
    with first.connect() as client:
        registered(client, names)
        first.stop()
    second = serve(later_ms, **{"rocketns.seedServers": seeds})
    with second.connect() as client:
        return brokers(client)


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
        assert brokers(client) == {elsewhere.broker}
