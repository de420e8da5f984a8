"""Notification 905, which the name server sends to a group's brokers when their lowest id has changed.

To show that none is sent, a test checks that the next notification arrives first: a connection keeps the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client
from tests.behaviour.calls import switch
from tests.behaviour.conftest import Names, running
from tests.behaviour.steps import registered, unregister
from tests.support.receiver import Receiver

ON: dict[str, object] = {"notifyMinBrokerIdChanged": "true"}
ONEWAY = 2

Receivers = Callable[[], Receiver]


@pytest.fixture(scope="module")
def server(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """One server that notifies for the tests of this file."""
    with running(server_class(tmp_path_factory.mktemp("notifying"), ON)) as started:
        yield started


@pytest.fixture
def receiver() -> Iterator[Receivers]:
    """Open a broker's socket: ``receiver()``; closed after the test."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Receiver())


def join(client: Client, names: Names, broker_id: int, at: Receiver | str, **ext: str) -> None:
    """Register a broker whose HA address is ``ha-<id>``."""
    addr = at if isinstance(at, str) else at.addr
    registered(client, names, broker_id=broker_id, brokerAddr=addr, haServerAddr=f"ha-{broker_id}", **ext)


def leave(client: Client, names: Names, broker_id: int, at: Receiver) -> None:
    assert unregister(client, names, broker_id=broker_id, brokerAddr=at.addr).code == 0


def joined(at: Receiver, broker_id: int) -> dict[str, str]:
    """The fields of a notification about a new lowest id."""
    return {"haBrokerAddr": f"ha-{broker_id}", "minBrokerAddr": at.addr, "minBrokerId": str(broker_id)}


def left(was: Receiver, at: Receiver, broker_id: int) -> dict[str, str]:
    """The fields of a notification that the broker with the lowest id has left. They name the new lowest id."""
    return {"offlineBrokerAddr": was.addr, "minBrokerAddr": at.addr, "minBrokerId": str(broker_id)}


def assert_frame(frame: Answer, fields: dict[str, str]) -> None:
    """A oneway request as Java writes it, its fields in the order of Java's hash."""
    ext = ",".join(f'"{key}":"{value}"' for key, value in fields.items())
    opaque = frame.opaque
    assert frame.header_bytes.decode() == (
        f'{{"code":905,"extFields":{{{ext}}},"flag":{ONEWAY},"language":"JAVA","opaque":{opaque},'
        '"serializeTypeCurrentRPC":"JSON","version":513}'
    )
    assert frame.body is None


def test_a_lower_id_joins(client: Client, names: Names, receiver: Receivers) -> None:
    """B192: a oneway request to the other brokers, with the same opaque for all. Connections are reused."""
    two, one, zero = receiver(), receiver(), receiver()
    join(client, names, 2, two)
    join(client, names, 1, one)
    assert_frame(two.next(), joined(one, 1))
    join(client, names, 0, zero)
    frames = [one.next(), two.next()]
    for frame in frames:
        assert_frame(frame, joined(zero, 0))
    assert frames[0].opaque == frames[1].opaque
    assert len(two.connections) == 1
    assert zero.has_no_more()
    assert zero.connections == []


@pytest.mark.parametrize("broker_id", [2, 0], ids=["higher", "the same"])
def test_no_lower_id_joins(client: Client, names: Names, receiver: Receivers, broker_id: int) -> None:
    """B192: no notification for an id that is not the lowest."""
    zero, other, minus = receiver(), receiver(), receiver()
    join(client, names, 0, zero)
    join(client, names, broker_id, zero if broker_id == 0 else other)
    join(client, names, -1, minus)
    assert_frame(zero.next(), joined(minus, -1))


@pytest.mark.parametrize("broker_id", [0, 3])
def test_the_first_member(client: Client, names: Names, receiver: Receivers, broker_id: int) -> None:
    """B194: no broker is notified, not even itself."""
    first, lower = receiver(), receiver()
    join(client, names, broker_id, first)
    join(client, names, -1, lower)
    assert_frame(first.next(), joined(lower, -1))


def test_a_first_member_below_zero(client: Client, names: Names, receiver: Receivers) -> None:
    """B194: it is notified about itself, because a group without members counts as one with a lowest id of 0."""
    first = receiver()
    join(client, names, -1, first)
    assert_frame(first.next(), joined(first, -1))


def test_the_lowest_id_leaves(client: Client, names: Names, receiver: Receivers) -> None:
    """B193: all remaining brokers are notified, the one that left is not."""
    zero, one, two = receiver(), receiver(), receiver()
    for broker_id, at in enumerate((zero, one, two)):
        join(client, names, broker_id, at, enableActingMaster="true")
    leave(client, names, 0, zero)
    frames = [one.next(), two.next()]
    for frame in frames:
        assert_frame(frame, left(zero, one, 1))
    assert frames[0].opaque == frames[1].opaque
    assert zero.connections == []


def test_the_connection_of_the_lowest_id_ends(
    server: NameServer, client: Client, names: Names, receiver: Receivers
) -> None:
    """B193: the close unregisters the broker."""
    zero, one = receiver(), receiver()
    join(client, names, 1, one, enableActingMaster="true")
    with server.connect() as broker:
        join(broker, names, 0, zero, enableActingMaster="true")
    assert_frame(one.next(), joined(zero, 0))
    assert_frame(one.next(), left(zero, one, 1))


def test_another_id_leaves(client: Client, names: Names, receiver: Receivers) -> None:
    """B193: the lowest id stays, so no notification is sent."""
    zero, one, two = receiver(), receiver(), receiver()
    for broker_id, at in enumerate((zero, one, two)):
        join(client, names, broker_id, at, enableActingMaster="true")
    leave(client, names, 1, one)
    leave(client, names, 0, zero)
    assert_frame(two.next(), left(zero, two, 2))
    assert one.connections == []


def test_a_group_without_acting_master(client: Client, names: Names, receiver: Receivers) -> None:
    """B196: it is notified of joins, not of leaves."""
    zero, one = receiver(), receiver()
    join(client, names, 0, zero)
    join(client, names, 1, one)
    leave(client, names, 0, zero)
    join(client, names, 0, zero)
    assert_frame(one.next(), joined(zero, 0))


def test_switched_off(client: Client, names: Names, receiver: Receivers) -> None:
    """B195: nobody is notified until it is switched on again. The switch takes effect at once."""
    one, zero, minus = receiver(), receiver(), receiver()
    switch(client, "notifyMinBrokerIdChanged", "false")
    try:
        join(client, names, 1, one)
        join(client, names, 0, zero)
    finally:
        switch(client, "notifyMinBrokerIdChanged", "true")
    join(client, names, -1, minus)
    assert_frame(one.next(), joined(minus, -1))
    assert_frame(zero.next(), joined(minus, -1))
