"""How long a restored broker is kept, what it must do to stay, and the effect of its first registration."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Answer, Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import Topic, configs, heartbeat, query_version, register, registered
from tests.behaviour.views import addrs, ask_route, cluster_info, group, queue, route
from tests.hostile.listeners import announce, connect_from
from tests.journal.files import records_of
from tests.journal.replay import Record
from tests.support.inprocess import TimedServer
from tests.support.policies import whole
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


def test_the_first_registration_replaces_the_topics(serve: Serve, names: Names, tmp_path: Path) -> None:
    """Also with an unchanged data version, as in Java. Later ones of the same version change nothing."""
    register_and_stop(serve(), names, "T", "U", "V")
    server = serve()
    with server.connect() as client:
        client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": names.broker})
        registered(client, names, ("T", "U"))
        pass_time(server, 4 * SECOND)
        eventually(lambda: ask_route(client, names.topic("V")).code == codes.TOPIC_NOT_EXIST)
        assert queue(client, names.topic("T"))["perm"] == 6
        client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": names.broker})
        registered(client, names, ("T", "U"))
        assert queue(client, names.topic("T"))["perm"] == 4
    server.stop()
    assert next(one["topics"] for one in written(tmp_path, "tdel")) == [{"t": names.topic("V")}]


def test_a_single_topic_replaces_nothing_and_hides_nothing(serve: Serve, names: Names) -> None:
    """A broker sends a new topic by itself. Its data version is not taken: other topics may have changed before."""
    register_and_stop(serve(), names, "T", "U", version=data_version())
    server = serve()
    with server.connect() as client:
        registered(client, names, ("V",), version=LATER)
        assert all(ask_route(client, names.topic(one)).code == 0 for one in "TUV")
        assert query_version(client, names, LATER).ext == {"changed": "true"}
        registered(client, names, ("T", "V"), version=LATER)
        pass_time(server, 4 * SECOND)
        eventually(lambda: ask_route(client, names.topic("U")).code == codes.TOPIC_NOT_EXIST)
        assert query_version(client, names, LATER).ext == {"changed": "false"}


@pytest.mark.parametrize("own", [0, 1, 2, None])
@pytest.mark.parametrize("size", [1, 2, 150])
def test_the_parts_of_a_split_registration_lose_no_topic(
    serve: Serve, names: Names, size: int, own: int | None
) -> None:
    """enableSplitRegistration, with parts of any size (splitRegistrationSize), one of which may name the topic of the
    broker's own name. What no part names goes some seconds after the last one, and the version is that of a part.
    """
    parts: list[list[Topic]] = [[f"{part}-{number}" for number in range(size)] for part in range(3)]
    if own is not None:
        parts[own].append(topic_config(names.broker))
    if size == 1 and own is not None:
        parts[own - 1].append("more")
    register_and_stop(serve(), names, *(topic for part in parts for topic in part), "gone")
    server = serve()
    with server.connect() as client:
        for part in parts:
            assert all(ask_route(client, names.topic(f"{number}-0")).code == 0 for number in range(3))
            registered(client, names, part, version=LATER)
            pass_time(server, 2 * SECOND)
        pass_time(server, 2 * SECOND)
        assert all(ask_route(client, names.topic(f"{part}-{size - 1}")).code == 0 for part in range(3))
        if size > 1 or own is not None:
            eventually(lambda: ask_route(client, names.topic("gone")).code == codes.TOPIC_NOT_EXIST)


def renamed(names: Names) -> Names:
    """The same broker, which has another name now."""
    other = Names()
    other.addr, other.cluster = names.addr, names.cluster  # type: ignore[method-assign]
    return other


@pytest.mark.parametrize("sign", [heartbeat, query_version, registered])
def test_a_former_name_of_an_address_goes_after_confirm_seconds(
    serve: Serve, names: Names, tmp_path: Path, sign: Callable[..., object]
) -> None:
    """The broker was renamed while no name server ran. A name that a sign of life gives stays, also two of them."""
    now, both = renamed(names), renamed(names)
    server = serve()
    with server.connect() as client:
        registered(client, names)
        registered(client, both)
        server.stop()
    server = serve(**{"rocketns.confirmSeconds": 20})
    with server.connect() as broker:
        registered(broker, now)
        sign(broker, both)
        pass_time(server, 19 * SECOND)
        assert is_known(broker, names)
        sign(broker, both)
        pass_time(server, 3 * SECOND)
        eventually(lambda: not is_known(broker, names))
        assert is_known(broker, now)
        assert is_known(broker, both)
        server.stop()
    assert [(one["broker"], one["cause"]) for one in written(tmp_path, "down")] == [(names.broker, "unconfirmed")]
    server = serve()
    with server.connect() as client:
        assert (is_known(client, names), is_known(client, now), is_known(client, both)) == (False, True, True)


@pytest.mark.parametrize("first", [1, 2])
def test_a_former_cluster_goes_with_its_last_member(serve: Serve, names: Names, first: int) -> None:
    """Master and slave registered with another cluster while no name server ran."""
    server = serve()
    with server.connect() as client:
        registered(client, names)
        registered(client, names, host=2, broker_id=1)
        server.stop()
    former, names.cluster = names.cluster, "moved"
    server = serve()
    with server.connect() as client:
        registered(client, names, host=first, broker_id=first - 1)
        assert cluster_info(client)["clusterAddrTable"].keys() == {former, "moved"}
        registered(client, names, host=3 - first, broker_id=2 - first)
        assert cluster_info(client)["clusterAddrTable"] == {"moved": [names.broker]}
        assert group(client, names.broker)["cluster"] == "moved"
        pass_time(server, 100 * SECOND)
        server.stop()
    server = serve()
    with server.connect() as client:
        assert cluster_info(client)["clusterAddrTable"] == {"moved": [names.broker]}


def test_a_former_cluster_goes_with_the_members_that_stay_silent(serve: Serve, names: Names) -> None:
    server = serve()
    with server.connect() as client:
        registered(client, names)
        registered(client, names, host=2, broker_id=1)
        server.stop()
    names.cluster = "moved"
    server = serve(**{"rocketns.confirmSeconds": 20})
    with server.connect() as client:
        registered(client, names)
        pass_time(server, 21 * SECOND)
        eventually(lambda: cluster_info(client)["clusterAddrTable"] == {"moved": [names.broker]})
        assert group(client, names.broker)["cluster"] == "moved"


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


@pytest.mark.slow
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


HERE, THERE = "127.0.0.2", "127.0.0.3"
ASKING = {"rocketns.askUnconfirmed": "true", "rocketns.confirmSeconds": 20}
NOBODY_LISTENS = 1  # a port


def announce_both(server: TimedServer) -> None:
    """One host announces itself, and another host. Neither accepts connections."""
    with connect_from(server.port, HERE) as client:
        announce(client, "own", f"{HERE}:{NOBODY_LISTENS}")
        announce(client, "other", f"{THERE}:{NOBODY_LISTENS}")
        server.stop()


def known(server: TimedServer) -> list[str]:
    with server.connect() as client:
        return [name for name in ("own", "other") if group(client, name) is not None]


@pytest.mark.parametrize("restarts", [1, 3])
def test_an_address_that_another_host_announced_is_not_asked(
    serve: Serve, restarts: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It stays as long as one whose host does not answer, and the one that refuses goes at once. Also after restarts
    that only wrote snapshots."""
    announce_both(serve())
    for _ in range(restarts - 1):
        serve().stop()
    server = serve(**ASKING)
    with caplog.at_level(logging.INFO):
        eventually(lambda: known(server) == ["other"])
    assert "is gone: its address refuses connections" in caplog.text
    pass_time(server, 19 * SECOND)
    assert known(server) == ["other"]
    pass_time(server, 2 * SECOND)
    eventually(lambda: known(server) == [])
    server.stop()
    downs = [(one["broker"], one["cause"]) for one in written(tmp_path, "down")]
    assert downs == [("own", "refused"), ("other", "unconfirmed")]


def test_a_journal_of_an_older_version_names_no_host(serve: Serve, tmp_path: Path) -> None:
    """Then nobody is asked outside of askNetworks, and all leave at the end of their time."""
    announce_both(serve())
    for file in (tmp_path / "j").rglob("*.jsonl"):
        text = file.read_text("utf-8")
        assert f'"from_host":"{HERE}"' in text
        file.write_text(text.replace(f',"from_host":"{HERE}"', ""), "utf-8")
    server = serve(**ASKING)
    pass_time(server, 19 * SECOND)
    assert known(server) == ["own", "other"]
    pass_time(server, 2 * SECOND)
    eventually(lambda: known(server) == [])


def test_the_journal_notes_a_change_of_the_host_once(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    with connect_from(server.port, THERE) as first, connect_from(server.port, HERE) as second:
        for client in (first, first, second, second, first):
            announce(client, "own", f"{HERE}:{NOBODY_LISTENS}")
        server.stop()
    beats = [one for one in records_of(tmp_path / "j") if one["ev"] in ("reg", "hb")]
    assert [one.get("from_host") for one in beats] == [THERE, None, HERE, None, None]


def test_routes_beyond_the_bound_are_kept(
    serve: Callable[..., TimedServer], names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    topics = [f"T{number}" for number in range(6)]
    first = serve()
    with first.connect() as client:
        registered(client, names, topics)
        first.stop()
    with caplog.at_level(logging.WARNING):
        second = serve(**{"rocketns.routesMax": 4, "rocketns.brokerRoutesMax": 4, "rocketns.brokersMax": 1})
    assert "the tables have 6 routes, more than rocketns.routesMax=4" in "".join(caplog.messages)
    with second.connect() as client:
        assert all(route(client, names.topic(topic)) for topic in topics)
        registered(client, names, topics)
        assert register(client, names, [*topics, "U"]).code == codes.SYSTEM_ERROR
        assert register(client, Names()).code == codes.SYSTEM_ERROR
        assert all(route(client, names.topic(topic)) for topic in topics)


BROKER, SLAVE, STRANGER = "127.0.0.1", "127.0.0.2", "127.0.0.3"
POLICY = """
[modes]
takeover = "{mode}"

"""


def address(host: str) -> str:
    return f"{host}:10911"


def register_from(client: Client, names: Names, host: str, broker_id: int = 0) -> Answer:
    """Two topics. The address is that of ``host``, the registration comes from the client's own."""
    body = register_body(configs(names, ["T", "U"]))
    ext = register_ext(names.cluster, names.broker, address(host), broker_id, body)
    return client.request(codes.REGISTER_BROKER, ext, body)


def from_host(server: TimedServer | RocketnsServer, host: str) -> Client:
    return Client(server.port, source=host)


@pytest.fixture
def guarded(serve: Callable[..., TimedServer], tmp_path: Path) -> Callable[[str], TimedServer]:
    """A server with a policy for takeovers."""

    def start(mode: str, **properties: object) -> TimedServer:
        policy = tmp_path / "access.toml"
        policy.write_text(whole(POLICY.format(mode=mode)), "utf-8")
        return serve(**{"rocketns.accessFile": policy, **properties})

    return start


def refusals(tmp_path: Path) -> list[dict[str, Any]]:
    return [one for one in records_of(tmp_path / "j", with_open=True) if one["ev"] == "refused"]


def test_a_server_without_a_policy_records_a_takeover_and_answers_as_java(
    serve: Callable[..., TimedServer], names: Names, tmp_path: Path
) -> None:
    server = serve()
    with from_host(server, BROKER) as broker, from_host(server, STRANGER) as stranger:
        register_from(broker, names, BROKER)
        answer = register_from(stranger, names, STRANGER)
        assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, {}, None)
        assert addrs(stranger, names.broker) == {"0": address(STRANGER)}
    server.stop()
    (record,) = refusals(tmp_path)
    fields = {one["k"]: one["v"] for one in record["fields"]}
    assert (record["code"], record["reason"], record["enforced"], record["from_host"]) == (
        codes.REGISTER_BROKER, "takeover", False, STRANGER,
    )  # fmt: skip
    assert (fields["holder"], fields["brokerAddr"], fields["brokerName"]) == (
        address(BROKER), address(STRANGER), names.broker,
    )  # fmt: skip


def test_a_restored_broker_is_guarded_and_its_slave_may_become_master(
    guarded: Callable[..., TimedServer], names: Names
) -> None:
    """The name server was restarted, and has heard nobody yet."""
    server = guarded("enforce")
    with from_host(server, BROKER) as master, from_host(server, SLAVE) as slave:
        register_from(master, names, BROKER)
        register_from(slave, names, SLAVE, 1)
        server.stop()
    server = guarded("enforce", later_ms=SECOND)
    with from_host(server, STRANGER) as stranger, from_host(server, SLAVE) as slave:
        assert register_from(stranger, names, STRANGER).code == codes.NO_PERMISSION
        assert addrs(stranger, names.broker) == {"0": address(BROKER), "1": address(SLAVE)}
        assert register_from(slave, names, SLAVE, 0).code == codes.SUCCESS
        assert addrs(slave, names.broker) == {"0": address(SLAVE)}
