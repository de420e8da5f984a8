"""Control: which host pays for a turn, errors on the way, and the lines about events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import frame, json_header
from rocketns.config import Configuration
from rocketns.processor.client import is_ready
from rocketns.protocol.body.route import queue_data
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.events import (
    Cause,
    TopicChange,
    TopicsPut,
)
from rocketns.server.clock import Clock
from rocketns.server.control.answering import Answering
from rocketns.server.control.control import Control
from rocketns.server.control.housekeeping import BrokerHousekeeping
from rocketns.server.control.inbox import Inbox, WaitingFrame
from rocketns.server.product_environment import ProductEnvironment
from rocketns.server.publishing import eventlog
from rocketns.server.publishing.eventlog import log_events
from rocketns.server.publishing.publisher import Publisher
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, registered
from tests.behaviour.views import group, route
from tests.support.inprocess import TimedServer

MS = 1_000_000
FRAME = bytes(range(40))


class Time(Clock):
    """A clock that moves only by the cost of the work."""

    def __init__(self) -> None:
        self.ns = 0

    def spent_ns(self) -> int:
        return self.ns


class Peer:
    """A connection. A test sets ``is_full``."""

    def __init__(self, host: str) -> None:
        self.address, self.host = f"{host}:1", host
        self.in_flight = 0
        self.is_full = self.has_ended = self.is_broker = False
        self.is_open = True
        self.aborted: list[Any] = []

    def begin_request(self) -> None:
        self.in_flight += 1

    def end_request(self) -> None:
        self.in_flight -= 1

    def release(self, frame_bytes: int) -> None:
        """No reactor counts it."""

    def flush(self) -> None:
        """Nothing was written."""

    def abort(self, *why: Any) -> None:
        self.aborted.append(why)


class Served:
    """Notes whose frame was served, at a cost of one millisecond. A bad frame raises."""

    def __init__(self, time: Time, good: tuple[bytes, ...] = (FRAME,)) -> None:
        self.time, self.order, self.good = time, cast(list[str], []), good
        self.deferred, self.measures = NoneDeferred(), None

    def serve(self, peer: Peer, waiting: WaitingFrame, *, may_defer: bool) -> bool:
        assert (waiting.is_refused, may_defer) == (False, False)
        self.time.ns += MS
        peer.end_request()
        self.order.append(peer.host)
        if waiting.frame not in self.good:
            raise ArithmeticError("planted")
        return True


class NoBrokers:
    has_waiting = False

    def apply(self) -> None:
        """No broker leaves."""

    def connection_closed(self, connection: Any, cause: Cause) -> None:
        """No broker was on it."""


class NoneDeferred:
    def answer_due(self) -> None:
        """No lookup waits."""


def control_of(served: Served, home: Path) -> Control:
    configuration = Configuration.build(None, home=home)
    answering, housekeeping = cast(Answering, served), cast(BrokerHousekeeping, NoBrokers())
    return Control(configuration, served.time, answering, housekeeping, Mock(replied_bytes=0))


async def turns() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_parking_is_charged_to_the_host_that_does_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A peer that does not read its answers causes work, and waits for that work itself."""
    served = Served(Time())
    park = Inbox.park

    def dear(inbox: Any, *arguments: Any) -> Any:
        served.time.ns += 100 * MS
        return park(inbox, *arguments)

    control, slow, modest = control_of(served, tmp_path), Peer("slow"), Peer("modest")
    monkeypatch.setattr(Inbox, "park", dear)
    slow.is_full = True
    control.submit(cast(Any, slow), FRAME)
    for _ in range(3):
        control.submit(cast(Any, modest), FRAME)
    control.submit(cast(Any, Peer("slow")), FRAME)
    await turns()
    assert served.order == ["modest"] * 3 + ["slow"]
    slow.is_full = False
    control.resume(cast(Any, slow))
    await turns()
    assert served.order == ["modest"] * 3 + ["slow"] * 2


async def test_an_unforeseen_error_ends_one_connection_and_no_other(tmp_path: Path) -> None:
    served = Served(Time())

    control, bad, good = control_of(served, tmp_path), Peer("bad"), Peer("good")
    control.submit(cast(Any, bad), FRAME + b"!")
    for _ in range(3):
        control.submit(cast(Any, good), FRAME)
    await turns()
    assert sorted(served.order) == ["bad", "good", "good", "good"]
    assert (len(bad.aborted), good.aborted, good.in_flight) == (1, [], 0)


LARGE = frame(json_header(codes.REGISTER_BROKER), bytes(1_000_000))
SMALL = frame(json_header(codes.UNREGISTER_BROKER))


@pytest.mark.parametrize(
    ("waiting", "served_of_it"), [pytest.param(1, 2, id="little waits"), pytest.param(9, 1, id="much waits")]
)
async def test_large_requests_of_who_is_gone_leave_their_room_to_others(
    tmp_path: Path, waiting: int, served_of_it: int
) -> None:
    """Requests that have an effect. Small ones, such as unregistrations, are still processed."""
    served = Served(Time(), (LARGE, SMALL))

    control, gone = control_of(served, tmp_path), Peer("gone")
    for number in range(waiting):
        control.submit(cast(Any, Peer(f"other {number}")), LARGE)
    for request in (LARGE, SMALL):
        control.submit(cast(Any, gone), request)
    gone.has_ended, gone.is_open = True, False
    control.connection_closed(cast(Any, gone), Cause.CHANNEL_CLOSE)
    await turns()
    assert (served.order.count("gone"), gone.in_flight) == (served_of_it, 0)
    assert len(served.order) == waiting + served_of_it


def test_a_lookup_that_waits_keeps_nothing_of_its_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a thousand lookups with bodies of 16 MB would hold 16 GB."""
    kept: list[Any] = []

    def ask(
        _: ProductEnvironment, command: RemotingCommand, __: object, answer: Callable[[None], None], ___: object
    ) -> None:
        kept.extend([command, *cast(Any, answer).args])
        answer(None)

    monkeypatch.setattr(ProductEnvironment, "ask", ask)
    with TimedServer(tmp_path, {"clusterTest": "true"}) as server, server.connect() as client:
        client.send(frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}), b"x" * 1_000_000))
        assert client.receive().code == codes.TOPIC_NOT_EXIST
    commands = [one for one in kept if isinstance(one, RemotingCommand)]
    assert len(commands) > 1
    assert all(one.data is None for one in commands)


def fail(*_: object) -> None:
    raise ArithmeticError("planted")


def test_a_change_that_cannot_be_published_or_logged_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the error in publishing control answers all lookups from the tables."""
    unlogged, names, later = Names(), Names(), Names()
    with TimedServer(tmp_path) as server, server.connect() as client:
        context = server.controller.core.context
        monkeypatch.setattr(eventlog, "_log_topics", fail)
        registered(client, unlogged)
        assert route(client, unlogged.topic("T"))
        assert context.registered_topics is not None
        monkeypatch.undo()
        monkeypatch.setattr(Publisher, "publish", fail)
        registered(client, names)
        heartbeat(client, names)
        monkeypatch.undo()
        registered(client, later)
        assert route(client, names.topic("T"))
        assert route(client, later.topic("T"))
        assert group(client, names.broker) is not None
    assert is_ready(context, server.clock.now())
    assert context.registered_topics is None


@pytest.mark.parametrize(("goes", "told"), [(False, ["10.0.0.2:1"]), (True, [])], ids=["serving", "going away"])
def test_a_server_that_goes_away_notifies_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes: bool, told: list[str]
) -> None:
    """B080: no 905 for a lowest broker id that left during the shutdown; before it, there is one."""
    receivers: list[str] = []
    with TimedServer(tmp_path, {"notifyMinBrokerIdChanged": "true"}) as server, server.connect() as client:
        for broker_id, addr in enumerate(("10.0.0.1:1", "10.0.0.2:1")):
            body = register_body([topic_config("T"), topic_config("U")])
            ext = register_ext(addr=addr, broker_id=broker_id, body=body, enableActingMaster="true")
            assert client.request(codes.REGISTER_BROKER, ext, body, version=SERVED).code == codes.SUCCESS
        monkeypatch.setattr(server.controller.client, "invoke_oneway", lambda addr, *_: receivers.append(addr))
        monkeypatch.setattr(server.controller.core.context, "going_away", goes)
        who = {"clusterName": "C1", "brokerName": "broker-a", "brokerAddr": "10.0.0.1:1", "brokerId": "0"}
        assert client.request(codes.UNREGISTER_BROKER, who, version=SERVED).code == codes.SUCCESS
        client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, version=SERVED)
    assert receivers == told


SERVED = 475  # peers up to this version are served until the end
OLD, NEW = queue_data(1, 2, 6, 0), queue_data(3, 4, 5, 6)


def test_many_topics_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    most, told = eventlog.TOPIC_LINES_MAX, eventlog.TOPIC_LINES_OF_MORE
    with caplog.at_level("INFO"):
        log_events([TopicsPut("ba", [TopicChange(f"T{i}", None, OLD) for i in range(most)], Cause.REGISTER)])
        assert len(caplog.messages) == most
        caplog.clear()
        log_events([TopicsPut("ba", [TopicChange(f"T{i}", None, OLD) for i in range(most + 7)], Cause.REGISTER)])
    assert len(caplog.messages) == told + 1
    assert caplog.messages[-1] == f"… and {most + 7 - told} more topics of ba registered or changed (register)"


def test_long_names_have_fewer_lines(caplog: pytest.LogCaptureFixture) -> None:
    """Each line has the broker's name, too: 100 lines of 8 KiB would take control 0.2 s to escape."""
    long = "\x01" * 4_000
    with caplog.at_level("INFO"):
        log_events([TopicsPut(long, [TopicChange(f"T{i}", OLD, NEW) for i in range(50)], Cause.PERM)])
    assert len(caplog.messages) == eventlog.TOPIC_CHARACTERS_MAX // (2 * len(long)) + 1
    assert caplog.messages[-1].startswith("… and 48 more topics of ")
