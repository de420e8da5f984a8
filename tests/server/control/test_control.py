"""Control's turns without a socket: which connection is charged for which time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from interop.harness import codes
from interop.harness.wire import frame, json_header
from rocketns.config import Configuration
from rocketns.routeinfo.events import Cause
from rocketns.server.clock import Clock
from rocketns.server.control.answering import Answering
from rocketns.server.control.control import Control
from rocketns.server.control.housekeeping import BrokerHousekeeping
from rocketns.server.requests.inbox import Inbox

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
        self.address, self.host, self.place = f"{host}:1", host, (host, host)
        self.in_flight = 0
        self.is_full = self.has_ended = self.is_known = False
        self.is_open = True
        self.aborted: list[Any] = []

    def note_known(self, is_known: bool) -> None:
        self.is_known = is_known

    def begin_request(self) -> None:
        self.in_flight += 1

    def end_request(self) -> None:
        self.in_flight -= 1

    def flush(self) -> None:
        """Nothing was written."""

    def abort(self, *why: Any) -> None:
        self.aborted.append(why)


class Served:
    """Notes whose frame was served, at a cost of one millisecond. A bad frame raises."""

    def __init__(self, time: Time, good: tuple[bytes, ...] = (FRAME,)) -> None:
        self.time, self.order, self.good = time, cast(list[str], []), good

    def serve(self, peer: Peer, frame: bytes, refusal: object) -> bool:
        assert refusal is None
        self.time.ns += MS
        peer.end_request()
        self.order.append(peer.host)
        if frame not in self.good:
            raise ArithmeticError("planted")
        return True


class NoBrokers:
    has_waiting = False

    def apply(self) -> None:
        """No broker leaves."""

    def connection_closed(self, connection: Any, cause: Cause) -> None:
        """No broker was on it."""


def control_of(served: Served, home: Path) -> Control:
    configuration = Configuration.build(None, home=home)
    return Control(configuration, served.time, cast(Answering, served), cast(BrokerHousekeeping, NoBrokers()), None)


async def turns() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


def test_parked_requests_that_come_back_are_charged_to_their_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A peer that does not read its answers causes work later, and waits for that work itself."""
    served = Served(Time())
    put_back = Inbox.put_back

    def dear(inbox: Any, *arguments: Any) -> None:
        served.time.ns += 100 * MS
        put_back(inbox, *arguments)

    async def play() -> None:
        control, slow, modest = control_of(served, tmp_path), Peer("slow"), Peer("modest")
        slow.is_full = True
        for _ in range(2):
            control.submit(cast(Any, slow), FRAME)
        await turns()
        assert served.order == []
        slow.is_full = False
        monkeypatch.setattr(Inbox, "put_back", dear)
        control.resume(cast(Any, slow))
        for _ in range(3):
            control.submit(cast(Any, modest), FRAME)
        await turns()

    asyncio.run(play())
    assert served.order == ["slow", "modest", "modest", "modest", "slow"]


def test_an_unforeseen_error_ends_one_connection_and_no_other(tmp_path: Path) -> None:
    served = Served(Time())

    async def play() -> tuple[Peer, Peer]:
        control, bad, good = control_of(served, tmp_path), Peer("bad"), Peer("good")
        control.submit(cast(Any, bad), FRAME + b"!")
        for _ in range(3):
            control.submit(cast(Any, good), FRAME)
        await turns()
        return bad, good

    bad, good = asyncio.run(play())
    assert sorted(served.order) == ["bad", "good", "good", "good"]
    assert (len(bad.aborted), good.aborted, good.in_flight) == (1, [], 0)


LARGE = frame(json_header(codes.REGISTER_BROKER), bytes(1_000_000))
SMALL = frame(json_header(codes.UNREGISTER_BROKER))


@pytest.mark.parametrize(
    ("waiting", "served_of_it"), [pytest.param(1, 2, id="little waits"), pytest.param(9, 1, id="much waits")]
)
def test_large_requests_of_who_is_gone_leave_their_room_to_others(
    tmp_path: Path, waiting: int, served_of_it: int
) -> None:
    """Requests that have an effect. Small ones, such as unregistrations, are still processed."""
    served = Served(Time(), (LARGE, SMALL))

    async def play() -> Peer:
        control, gone = control_of(served, tmp_path), Peer("gone")
        for number in range(waiting):
            control.submit(cast(Any, Peer(f"other {number}")), LARGE)
        for request in (LARGE, SMALL):
            control.submit(cast(Any, gone), request)
        gone.has_ended, gone.is_open = True, False
        control.connection_closed(cast(Any, gone), Cause.CHANNEL_CLOSE)
        await turns()
        return gone

    gone = asyncio.run(play())
    assert (served.order.count("gone"), gone.in_flight) == (served_of_it, 0)
    assert len(served.order) == waiting + served_of_it
