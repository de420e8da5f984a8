"""The turns of handshakes and requests of HTTP ports."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass
from unittest import mock

from rocketns.server.turns import PacedTurns


@dataclass(eq=False)
class HttpPeer:
    host: str
    served: list[str]

    def next_turn(self) -> None:
        self.served.append(self.host)


async def test_hosts_take_turns_and_the_loop_rests_in_proportion_to_each() -> None:
    """So handshakes leave most of a core to others, however many there are."""
    served, waits_s, cost_s = list[str](), list[float](), 0.002
    clock_s = (cost_s * (count // 2 + count % 2) for count in itertools.count())  # it is read before and after a turn

    loop = asyncio.get_running_loop()

    def later(delay_s: float, turn: object) -> None:
        waits_s.append(delay_s)
        loop.call_soon(turn)  # type: ignore[arg-type]

    turns = PacedTurns[HttpPeer](at_once=1, rest=3.0)
    with mock.patch.object(loop, "call_later", later), mock.patch("time.thread_time", side_effect=clock_s):
        for host in "aaaab":
            turns.want(HttpPeer(host, served))
        gone = HttpPeer("c", served)
        turns.want(gone)
        turns.withdraw(gone)
        while len(served) < 5:
            await asyncio.sleep(0)
    assert served.index("b") <= 2
    assert "c" not in served
    assert [round(one, 6) for one in waits_s] == [3 * cost_s] * 5
