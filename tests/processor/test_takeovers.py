"""What the takeover guard does with a registration, by its mode. `tests/access` has what it decides."""

from __future__ import annotations

import pytest

from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from rocketns.access.classes import Access, Mode
from rocketns.access.guard import Decided
from rocketns.access.policy import Policy
from rocketns.access.principal import Globs, Principal
from rocketns.protocol.codes import ResponseCode
from rocketns.protocol.command import Reply
from rocketns.routeinfo.events import BrokerConflict, Event, RequestRefused
from tests.processor.asking import Connection, World

OLD, NEW = "10.0.0.1:10911", "10.0.0.2:10911"
GROUP = "broker-a"


def register(world: World, addr: str, broker_id: int = 0, *, state: int = 1, **more: object) -> Reply:
    """From the broker's own host."""
    world.peer = Connection(f"{addr.partition(':')[0]}:1234", host=addr.partition(":")[0])
    body = register_body([topic_config("T"), topic_config("U")], data_version(state=state))
    ext = register_ext("c", GROUP, addr, broker_id, body, **more)
    return world.ask(103, ext, body)


def guarded(world: World, mode: Mode, *principals: Principal) -> World:
    """The world with a master, and a policy."""
    world.context.guard.follow(Policy(principals, takeover=mode))
    assert register(world, OLD).code == ResponseCode.SUCCESS
    world.context.take_events()
    return world


def refusals(events: list[Event]) -> list[RequestRefused]:
    return [event for event in events if isinstance(event, RequestRefused)]


def test_without_an_access_file_the_guard_only_tells(world: World) -> None:
    """The answer and the tables are those of a server without a guard."""
    register(world, OLD)
    world.context.take_events()
    reply = register(world, NEW)
    (event,) = refusals(world.context.take_events())
    assert (reply.code, reply.ext_fields) == (0, {"haServerAddr": None, "masterAddr": None})
    assert world.context.tables.broker_addr_table[GROUP].broker_addrs == {0: NEW}
    assert (event.code, event.access, event.reason, event.is_enforced) == (103, "broker", "takeover", False)


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.OFF])
def test_a_guard_that_does_not_enforce_changes_nothing(world: World, mode: Mode) -> None:
    reply = register(guarded(world, mode), NEW)
    assert (reply.code, reply.remark) == (0, None)
    assert world.context.tables.broker_addr_table[GROUP].broker_addrs == {0: NEW}
    assert len(refusals(world.context.take_events())) == (mode is Mode.OBSERVE)


def test_an_enforcing_guard_refuses_and_touches_nothing(world: World) -> None:
    """Neither the sign of life of the broker that has the id, nor the switches of the group."""
    guarded(world, Mode.ENFORCE)
    before, world.now = world.state(), world.now._replace(ms=world.now.ms + 60_000)
    reply = register(world, NEW, zoneName="other", enableActingMaster=True)
    assert reply.code == ResponseCode.NO_PERMISSION
    assert "another live broker has this name and id" in (reply.remark or "")
    assert world.state() == before


def test_the_event_says_who_would_have_lost_what(world: World) -> None:
    register(guarded(world, Mode.ENFORCE), NEW, AccessKey="k1")
    (event,) = refusals(world.context.take_events())
    fields = dict(event.fields)
    assert (event.host, event.access_key, event.is_enforced) == ("10.0.0.2", "k1", True)
    assert {name: fields[name] for name in ("holder", "brokerName", "brokerAddr", "brokerId")} == {
        "holder": OLD, "brokerName": GROUP, "brokerAddr": NEW, "brokerId": "0",
    }  # fmt: skip


def test_a_peer_cannot_write_who_the_holder_is(world: World) -> None:
    register(guarded(world, Mode.ENFORCE), NEW, holder="10.6.6.6:1")
    (event,) = refusals(world.context.take_events())
    assert dict(event.fields)["holder"] == OLD


def test_many_fields_hide_nothing(world: World) -> None:
    """They come before those of the registration."""
    guarded(world, Mode.ENFORCE)
    world.peer = Connection("10.0.0.2:1", host="10.0.0.2")
    ours = {"brokerName": GROUP, "brokerAddr": NEW, "brokerId": 0, "clusterName": "c"}
    world.ask(103, {f"f{number}": "" for number in range(100)} | ours)
    (event,) = refusals(world.context.take_events())
    assert ours.keys() <= dict(event.fields).keys()


def test_a_refused_peer_that_repeats_itself_is_told_of_once(world: World) -> None:
    guarded(world, Mode.ENFORCE)
    for _ in range(10):
        assert register(world, NEW).code == ResponseCode.NO_PERMISSION
    assert len(refusals(world.context.take_events())) == 1
    assert world.context.guard.decisions[Decided(Access.BROKER, Mode.ENFORCE, "takeover")] == 10


@pytest.mark.parametrize("number", [1, 2])
def test_a_slave_becomes_the_master_under_an_enforcing_guard(
    world: World, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A role switch of a controller. The log names the reason."""
    guarded(world, Mode.ENFORCE)
    register(world, NEW, number)
    with caplog.at_level("INFO", "rocketns.access"):
        assert register(world, NEW, state=2).code == ResponseCode.SUCCESS
    assert world.context.tables.broker_addr_table[GROUP].broker_addrs == {0: NEW}
    assert f"{NEW} takes the id 0 of the group {GROUP} over from {OLD}" in caplog.text
    assert "was_member" in caplog.text
    assert register(world, OLD, number, state=2).code == ResponseCode.SUCCESS
    assert world.context.tables.broker_addr_table[GROUP].broker_addrs == {0: NEW, number: OLD}
    assert not refusals(world.context.take_events())


def test_a_broker_with_another_address_takes_over_by_the_right_of_its_owner(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """A pod that returns while its former address still counts as live."""
    owner = Principal(
        "brokers", frozenset({Access.BROKER}), certificates=Globs(["CN=broker-*"]), owns=Globs(["broker-*"])
    )
    guarded(world, Mode.ENFORCE, owner)
    peer = Connection("10.0.0.2:1", host="10.0.0.2", peer_names=("CN=broker-a",))
    world.peer = peer
    with caplog.at_level("INFO", "rocketns.access"):
        reply = world.register("T", "U", cluster="c", broker=GROUP, addr=NEW)
    assert reply.code == ResponseCode.SUCCESS
    assert "owns_group" in caplog.text
    assert register(world, "10.0.0.3:10911").code == ResponseCode.NO_PERMISSION


def test_the_rules_of_state_versions_stay(world: World) -> None:
    """A former member with a lower stateVersion loses, as in Java."""
    guarded(world, Mode.ENFORCE)
    register(world, NEW, 1, state=1)
    register(world, OLD, state=5)
    world.context.take_events()
    reply = register(world, NEW, state=1)
    assert (reply.code, reply.ext_fields) == (0, {"haServerAddr": None, "masterAddr": None})
    assert any(isinstance(event, BrokerConflict) for event in world.context.take_events())
    assert world.context.tables.broker_addr_table[GROUP].broker_addrs == {0: OLD}


def test_a_registration_that_registers_nothing_is_no_takeover(world: World) -> None:
    """Without an address, a name or a cluster. Java answers a success."""
    guarded(world, Mode.ENFORCE)
    for missing in ("brokerAddr", "brokerName", "clusterName"):
        assert register(world, NEW, **{missing: None}).code == ResponseCode.SUCCESS
