"""What one hostile peer costs the relay, and with it all others."""

from __future__ import annotations

import pytest

from rocketns.shadow.relay.frames.asking import SAME_MAX, OpenRequests
from rocketns.shadow.relay.frames.budget import LITTLE_BYTES, Account, Budget
from rocketns.shadow.relay.frames.cutting import PIECE_BYTES, Cutter
from rocketns.shadow.relay.frames.frame import Asked, Frame
from rocketns.shadow.relay.frames.heads import Head
from rocketns.shadow.relay.leg import Leg
from rocketns.shadow.relay.turns import READ_BYTES_MAX
from tests.shadow.relay.scene import FRAME_BYTES_MAX, Scene, request

MIB = 1024 * 1024


def asked(opaque: int) -> Asked:
    return Asked(Frame(is_pinned=False), Head(opaque, 105, is_answer=False, is_oneway=False), 0.0, serve=False)


def test_only_so_many_open_requests_with_one_opaque_are_looked_through() -> None:
    """Each further one would cost as many steps as there are: a second of everybody's time for 100 KB of requests."""
    requests = OpenRequests(Account(Budget()))
    taken = [requests.add(asked(7)) for _ in range(SAME_MAX + 1)]
    assert taken == [True] * SAME_MAX + [False]
    assert requests.add(asked(8))


def test_connections_that_keep_all_they_may_leave_room_for_usual_ones() -> None:
    budget = Budget(256 * MIB)
    for _ in range(100):
        account = Account(budget)
        account.take(1000)
        while account.take(64 * 1024):
            pass
    assert not Account(budget).fits(MIB)
    assert Account(budget).fits(LITTLE_BYTES)


def test_a_frame_that_comes_in_tiny_pieces_is_accounted_for_with_what_each_piece_costs() -> None:
    account = Account(Budget())
    cutter = Cutter(account, FRAME_BYTES_MAX, pins=False)
    frame = request(size=1000)
    for at in range(0, 200, 2):
        list(cutter.pieces(frame[at : at + 2]))
    assert account.used >= 90 * PIECE_BYTES
    cutter.drop()
    assert account.used == 0


def test_a_connection_that_sends_much_is_taken_in_turns(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    take = Leg.data_received

    def noted(leg: Leg, data: bytes) -> None:
        sizes.append(len(data))
        take(leg, data)

    monkeypatch.setattr(Leg, "data_received", noted)
    client, up, _ = scene.connected()
    up.send(b"".join(request(opaque) for opaque in range(20_000)))
    client.read(READ_BYTES_MAX * 20)
    assert 0 < max(sizes) <= READ_BYTES_MAX
