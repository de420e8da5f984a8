"""The turns of handshakes of HTTP ports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from unittest import mock

from rocketns.server.http.secured import TURN_NS, Handshakes

MS = 1_000_000


@dataclass
class Room:
    """A clock that only handshakes move, and a list of the served hosts."""

    now_ns: int = 0
    served: list[str] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)

    async def serve(self, *peers: Peer) -> None:
        """All of them; notes how long each round of the loop was."""
        handshakes = Handshakes(lambda: self.now_ns)
        for peer in peers:
            handshakes.want(peer)
        while len(self.served) < len(peers):
            began_ns = self.now_ns
            await asyncio.sleep(0)
            self.turns.append(self.now_ns - began_ns)


@dataclass(eq=False)
class Peer:
    """A connection whose handshake takes ``cost_ns``. If it ``fails``, it raises an unexpected error."""

    room: Room
    host: str
    cost_ns: int = MS
    fails: bool = False

    @property
    def place(self) -> tuple[str, str]:
        """Its host, which may be a socket's and an announced one: a/x."""
        socket_host, _, announced = self.host.partition("/")
        return socket_host, announced or socket_host

    def go_on_with_tls(self) -> None:
        self.room.now_ns += self.cost_ns
        self.room.served.append(self.host)
        if self.fails:
            raise RuntimeError("not foreseen")


def test_a_turn_ends_with_the_handshake_that_exceeds_it() -> None:
    room = Room()
    asyncio.run(room.serve(*(Peer(room, "a") for _ in range(50))))
    assert max(room.turns) < TURN_NS + MS


def test_another_host_goes_before_those_of_a_host_with_many() -> None:
    """Hosts are charged the cost of their handshakes: both hosts get the same number in the same time."""
    room = Room()
    many, few = [Peer(room, "a") for _ in range(50)], [Peer(room, "b") for _ in range(5)]
    asyncio.run(room.serve(*many, *few))
    assert room.served[:12].count("b") == len(few)


def test_a_host_with_dear_handshakes_has_fewer() -> None:
    room = Room()
    dear, cheap = [Peer(room, "a", 10 * MS) for _ in range(20)], [Peer(room, "b") for _ in range(20)]
    asyncio.run(room.serve(*dear, *cheap))
    assert room.served[:20].count("b") >= 16


def test_after_a_turn_a_port_rests_in_proportion_to_it() -> None:
    """So handshakes leave most of a core to others, however many there are."""
    room, rests_s = Room(), list[float]()

    async def run() -> None:
        loop = asyncio.get_running_loop()

        def at(when_s: float, turn: Callable[[], None]) -> None:
            rests_s.append(when_s - loop.time())
            loop.call_soon(turn)

        handshakes = Handshakes(lambda: room.now_ns, rest=3.0)
        with mock.patch.object(loop, "time", return_value=0.0), mock.patch.object(loop, "call_at", at):
            for _ in range(6):
                handshakes.want(Peer(room, "a"))
            while len(room.served) < 6:
                await asyncio.sleep(0)

    asyncio.run(run())
    assert len(rests_s) == 2
    assert all(0.004 < one <= 3 * TURN_NS / 1e9 for one in rests_s)
