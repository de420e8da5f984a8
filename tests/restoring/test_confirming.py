"""How long a restored broker is kept, what it must do to stay, and the effect of its first registration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, query_version, registered
from tests.behaviour.views import ask_route, group, queue, route
from tests.journal.files import records_of
from tests.journal.replay import Record
from tests.support.inprocess import TimedServer
from tests.timed.steps import SECOND, pass_time

Serve = Callable[..., TimedServer]
LATER = data_version(counter=9)


def register_and_stop(server: TimedServer, names: Names, *topics: str, **more: object) -> None:
    with server.connect() as client:
        registered(client, names, topics or ("T", "U"), **more)
        server.stop()


def written(tmp_path: Path, kind: str) -> list[Record]:
    return [one for one in records_of(tmp_path / "j", with_open=True) if one["ev"] == kind]


def is_known(client: Client, names: Names) -> bool:
    shown = {group(client, names.broker) is not None, route(client, names.topic()) is not None}
    assert len(shown) == 1, shown
    return shown.pop()


def test_a_silent_broker_goes_after_confirm_seconds(serve: Serve, names: Names, tmp_path: Path) -> None:
    """Its own timeout of ten seconds does not count while it is unconfirmed."""
    register_and_stop(serve(), names, heartbeatTimeoutMillis=10_000)
    server = serve(**{"rocketns.confirmSeconds": 20})
    with server.connect() as client:
        pass_time(server, 20 * SECOND)
        assert is_known(client, names)
        server.advance(1 * SECOND)
        eventually(lambda: not is_known(client, names))
    server.stop()
    assert [one["cause"] for one in written(tmp_path, "down")] == ["unconfirmed"]


@pytest.mark.parametrize("sign", [heartbeat, query_version, registered])
def test_one_that_is_heard_stays_for_its_own_timeout(
    serve: Serve, names: Names, tmp_path: Path, sign: Callable[..., object]
) -> None:
    register_and_stop(serve(), names, heartbeatTimeoutMillis=40_000)
    server = serve(**{"rocketns.confirmSeconds": 20})
    with server.connect() as broker, server.connect() as client:
        more = {"heartbeatTimeoutMillis": 40_000} if sign is registered else {}
        sign(broker, names, **more)
        pass_time(server, 40 * SECOND)
        assert is_known(client, names)
        pass_time(server, 6 * SECOND)
        eventually(lambda: not is_known(client, names))
    server.stop()
    assert [one["cause"] for one in written(tmp_path, "down")] == ["expired"]


def test_a_broker_silent_for_too_long_is_not_restored(serve: Serve, names: Names) -> None:
    """rocketns.restoreMaxSeconds. One broker was heard after the first restart, the other was not."""
    server, other = serve(), Names()
    with server.connect() as client:
        registered(client, names)
        registered(client, other)
        server.stop()
    server = serve(60 * SECOND)
    with server.connect() as client:
        heartbeat(client, other)
        server.stop()
    server = serve(41 * SECOND, **{"rocketns.restoreMaxSeconds": 100})
    with server.connect() as client:
        assert not is_known(client, names)
        assert is_known(client, other)


def test_restarts_in_a_row_do_not_make_a_silent_broker_younger(serve: Serve, names: Names) -> None:
    register_and_stop(serve(), names)
    for _ in range(3):
        server = serve(40 * SECOND, **{"rocketns.restoreMaxSeconds": 100})
        with server.connect() as client:
            known = is_known(client, names)
        server.stop()
    assert not known


def test_a_clock_that_was_set_back_restores_all(serve: Serve, names: Names) -> None:
    """The newer boot still counts as the newer one."""
    register_and_stop(serve(), names, "T", "U")
    server = serve(-3_600 * SECOND)
    with server.connect() as client:
        registered(client, names, ("T", "U", "V"), version=LATER)
        server.stop()
    server = serve()
    with server.connect() as client:
        assert ask_route(client, names.topic("V")).code == 0


def test_the_first_registration_replaces_the_topics(serve: Serve, names: Names, tmp_path: Path) -> None:
    """Also with an unchanged data version, as in Java. Later ones of the same version change nothing."""
    register_and_stop(serve(), names, "T", "U", "V")
    server = serve()
    with server.connect() as client:
        client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": names.broker})
        registered(client, names, ("T", "U"))
        assert ask_route(client, names.topic("V")).code == codes.TOPIC_NOT_EXIST
        assert queue(client, names.topic("T"))["perm"] == 6
        client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": names.broker})
        registered(client, names, ("T", "U"))
        assert queue(client, names.topic("T"))["perm"] == 4
    server.stop()
    assert next(one["topics"] for one in written(tmp_path, "tdel")) == [{"t": names.topic("V")}]


def test_the_same_registration_again_changes_nothing(serve: Serve, names: Names, tmp_path: Path) -> None:
    """The journal has a heartbeat for it and no change."""
    register_and_stop(serve(), names)
    server = serve()
    with server.connect() as client:
        registered(client, names)
        server.stop()  # before the connection closes, which unregisters the broker
    boot = server.controller.journal.buffer._boot
    kinds = [one["ev"] for one in records_of(tmp_path / "j") if one["boot"] == boot]
    assert kinds.count("hb") == 1
    assert not {"reg", "tput", "tdel", "down"} & set(kinds)


def test_a_single_topic_replaces_nothing_and_hides_nothing(serve: Serve, names: Names) -> None:
    """A broker sends a new topic by itself. Its data version is not taken: other topics may have changed before."""
    register_and_stop(serve(), names, "T", "U", version=data_version())
    server = serve()
    with server.connect() as client:
        registered(client, names, ("V",), version=LATER)
        assert all(ask_route(client, names.topic(one)).code == 0 for one in "TUV")
        assert query_version(client, names, LATER).ext == {"changed": "true"}
        registered(client, names, ("T", "V"), version=LATER)
        assert ask_route(client, names.topic("U")).code == codes.TOPIC_NOT_EXIST
        assert query_version(client, names, LATER).ext == {"changed": "false"}


def test_the_parts_of_a_split_registration_lose_no_topic(serve: Serve, names: Names) -> None:
    """enableSplitRegistration. What no part names goes after some seconds."""
    first, second = [f"A{n}" for n in range(150)], [f"B{n}" for n in range(150)]
    register_and_stop(serve(), names, *first, *second, "gone")
    server = serve()
    with server.connect() as client:
        registered(client, names, first)
        assert ask_route(client, names.topic("B0")).code == 0
        registered(client, names, second)
        pass_time(server, 4 * SECOND)
        assert all(ask_route(client, names.topic(one)).code == 0 for one in ("A0", "A149", "B0", "B149"))
        eventually(lambda: ask_route(client, names.topic("gone")).code == codes.TOPIC_NOT_EXIST)


def test_an_unconfirmed_broker_is_marked_in_the_journal(serve: Serve, names: Names, tmp_path: Path) -> None:
    register_and_stop(serve(), names)
    server = serve(7 * SECOND)
    server.stop()
    boot = server.controller.journal.buffer._boot
    marked = [(one["doubt"], one["seen"]) for one in written(tmp_path, "snap") if one["boot"] == boot and "addr" in one]
    assert marked
    assert set(marked) == {("restored", server.clock.now().epoch_ms - 7 * SECOND)}
    (begun,) = [one for one in written(tmp_path, "start") if one["boot"] == boot]
    assert begun["restored"] is True
    assert server.controller.facts.counts()["unconfirmed brokers"] == 1


def test_a_restored_broker_that_only_sent_heartbeats_does_not_keep_its_id(
    start: Callable[..., RocketnsServer], names: Names
) -> None:
    """After a kill its data version is unknown and cannot be compared. The broker moved: the new address counts."""
    server = start()
    with server.connect() as client:
        registered(client, names)
        server.kill()
    server.start()
    with server.connect() as client:
        heartbeat(client, names)
        eventually(lambda: "sent a heartbeat (it was restored)" in server.process.text())
        registered(client, names, host=2)
        assert group(client, names.broker)["brokerAddrs"] == {"0": names.addr(2)}
