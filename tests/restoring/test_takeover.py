"""Takeovers over sockets: what the guard answers, records and keeps, before and after a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Answer, Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import configs
from tests.behaviour.views import addrs, group
from tests.journal.files import records_of
from tests.support.inprocess import TimedServer
from tests.timed.steps import SECOND, pass_time

BROKER, SLAVE, STRANGER, OWNER = "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"
POLICY = """
[modes]
takeover = "{mode}"

[principals.operators]
networks = ["127.0.0.4/32"]
may = ["broker"]
owns = ["broker-*"]
"""


def address(host: str) -> str:
    return f"{host}:10911"


def register(client: Client, names: Names, host: str, broker_id: int = 0) -> Answer:
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
        policy.write_text(POLICY.format(mode=mode), "utf-8")
        return serve(**{"rocketns.accessFile": policy, **properties})

    return start


def refusals(tmp_path: Path) -> list[dict[str, Any]]:
    return [one for one in records_of(tmp_path / "j", with_open=True) if one["ev"] == "refused"]


def test_a_server_without_a_policy_records_a_takeover_and_answers_as_java(
    serve: Callable[..., TimedServer], names: Names, tmp_path: Path
) -> None:
    server = serve()
    with from_host(server, BROKER) as broker, from_host(server, STRANGER) as stranger:
        register(broker, names, BROKER)
        answer = register(stranger, names, STRANGER)
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


def test_a_guard_that_is_off_records_nothing(guarded: Callable[..., TimedServer], names: Names, tmp_path: Path) -> None:
    server = guarded("off")
    with from_host(server, BROKER) as broker, from_host(server, STRANGER) as stranger:
        register(broker, names, BROKER)
        assert register(stranger, names, STRANGER).code == codes.SUCCESS
    server.stop()
    assert not refusals(tmp_path)


def test_refused_takeovers_keep_no_broker_in_the_routes(guarded: Callable[..., TimedServer], names: Names) -> None:
    """They are no sign of life of the broker that they name: it leaves when its own time is over."""
    server = guarded("enforce")
    with from_host(server, BROKER) as broker, from_host(server, STRANGER) as stranger:
        register(broker, names, BROKER)
        for _ in range(11):
            pass_time(server, 10 * SECOND)
            assert register(stranger, names, STRANGER).code == codes.NO_PERMISSION
            assert addrs(stranger, names.broker) == {"0": address(BROKER)}
        pass_time(server, 16 * SECOND)
        assert group(stranger, names.broker) is None


def test_an_oneway_takeover_is_refused_without_an_answer(guarded: Callable[..., TimedServer], names: Names) -> None:
    server = guarded("enforce")
    with from_host(server, BROKER) as broker, from_host(server, STRANGER) as stranger:
        register(broker, names, BROKER)
        body = register_body(configs(names, ["T", "U"]))
        ext = register_ext(names.cluster, names.broker, address(STRANGER), 0, body)
        stranger.post(codes.REGISTER_BROKER, ext, body, flag=2)
        assert addrs(stranger, names.broker) == {"0": address(BROKER)}  # the next answer is that to the next request


def test_a_broker_with_a_new_address_waits_for_the_end_of_its_old_one(
    guarded: Callable[..., TimedServer], names: Names
) -> None:
    """Without the right to its group. The node failed, so nobody closed the old connection."""
    server = guarded("enforce")
    with from_host(server, BROKER) as old, from_host(server, STRANGER) as new:
        register(old, names, BROKER)
        assert register(new, names, STRANGER).code == codes.NO_PERMISSION
        pass_time(server, 126 * SECOND)
    with from_host(server, STRANGER) as new:
        assert register(new, names, STRANGER).code == codes.SUCCESS


def test_a_broker_with_a_new_address_need_not_wait_for_a_closed_connection(
    guarded: Callable[..., TimedServer], names: Names
) -> None:
    server = guarded("enforce")
    with from_host(server, BROKER) as old:
        register(old, names, BROKER)
    with from_host(server, STRANGER) as new:
        eventually(lambda: group(new, names.broker) is None)
        assert register(new, names, STRANGER).code == codes.SUCCESS


def test_a_broker_with_a_new_address_returns_at_once_where_it_owns_its_group(
    guarded: Callable[..., TimedServer], names: Names, tmp_path: Path
) -> None:
    server = guarded("enforce")
    with from_host(server, BROKER) as old, from_host(server, OWNER) as new:
        register(old, names, BROKER)
        assert register(new, names, OWNER).code == codes.SUCCESS
        assert addrs(new, names.broker) == {"0": address(OWNER)}
    server.stop()
    assert not refusals(tmp_path)


def test_a_slave_becomes_the_master_and_the_master_its_slave(
    guarded: Callable[..., TimedServer], names: Names, tmp_path: Path
) -> None:
    """A controller switches their roles while both are live."""
    server = guarded("enforce")
    with from_host(server, BROKER) as master, from_host(server, SLAVE) as slave:
        register(master, names, BROKER)
        register(slave, names, SLAVE, 1)
        assert register(slave, names, SLAVE, 0).code == codes.SUCCESS
        assert register(master, names, BROKER, 1).code == codes.SUCCESS
        assert addrs(slave, names.broker) == {"0": address(SLAVE), "1": address(BROKER)}
    server.stop()
    assert not refusals(tmp_path)


def test_a_restored_broker_is_guarded_and_its_slave_may_become_master(
    guarded: Callable[..., TimedServer], names: Names
) -> None:
    """The name server was restarted, and has heard nobody yet."""
    server = guarded("enforce")
    with from_host(server, BROKER) as master, from_host(server, SLAVE) as slave:
        register(master, names, BROKER)
        register(slave, names, SLAVE, 1)
        server.stop()
    server = guarded("enforce", later_ms=SECOND)
    with from_host(server, STRANGER) as stranger, from_host(server, SLAVE) as slave:
        assert register(stranger, names, STRANGER).code == codes.NO_PERMISSION
        assert addrs(stranger, names.broker) == {"0": address(BROKER), "1": address(SLAVE)}
        assert register(slave, names, SLAVE, 0).code == codes.SUCCESS
        assert addrs(slave, names.broker) == {"0": address(SLAVE)}


def test_a_killed_server_guards_the_brokers_that_it_restores(
    start: Callable[..., RocketnsServer], names: Names, tmp_path: Path
) -> None:
    """A real process. The broker itself returns with the same address."""
    policy = tmp_path / "access.toml"
    policy.write_text(POLICY.format(mode="enforce"), "utf-8")
    server = start(**{"rocketns.accessFile": policy})
    with from_host(server, BROKER) as broker:
        register(broker, names, BROKER)
        server.kill()
    server.start()
    with from_host(server, STRANGER) as stranger, from_host(server, BROKER) as broker:
        assert register(stranger, names, STRANGER).code == codes.NO_PERMISSION
        assert register(broker, names, BROKER).code == codes.SUCCESS
        assert register(stranger, names, STRANGER).code == codes.NO_PERMISSION
        assert addrs(stranger, names.broker) == {"0": address(BROKER)}
