"""Plays recorded requests to a name server, each recorded connection on one of its own.

With one lane the requests go out one after the other in the given order, whatever connection they were on. With
more lanes connections play side by side, each in its own order.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from rocketns.protocol.command import RemotingCommand
from rocketns.shadow.comparing.comparing import Comparing, Finding
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.pairs import Pair
from rocketns.shadow.recording.lines import Recorded
from rocketns.shadow.recording.secrets import clean_answer, decoded
from rocketns.shadow.recording.tree import UnreadableError
from rocketns.shadow.replaying.choosing import Choice, Pace, Sleep, changes
from rocketns.shadow.replaying.connection import Connection, NoAnswerError
from rocketns.shadow.replaying.result import Result, Shown

OPEN_MAX = 1_000
"""Open connections of all lanes. Beyond it the one that was used longest ago is closed, and opened again if needed."""

WAITING_MAX = 64
"""Requests that wait for their lane."""

ASKED_AGAIN_MAX = 200
"""Requests that are asked again because their answers differ."""

Open = Callable[[], Awaitable[Connection]]
_ALIKE = (Outcome.EQUAL, Outcome.ORDER, Outcome.LISTED)


class Step(NamedTuple):
    """A pair to play; ``end`` is where its line ends in the file."""

    number: int
    end: int
    pair: Pair
    command: RemotingCommand


class Player:
    """``open_one`` makes a connection; its UnreachableError ends the replay.

    ``settle_s``: a read that differs is asked again after so long; 0 for never. ``tell`` gets how many bytes of the
    file were played.
    """

    def __init__(
        self, open_one: Open, choice: Choice, pace: Pace, sleep: Sleep, *, settle_s: float, lanes: int = 1
    ) -> None:  # fmt: skip
        self.result = Result()
        self._open_one, self._choice, self._pace, self._sleep = open_one, choice, pace, sleep
        self._settle_s = settle_s
        self.tell: Callable[[int], None] = lambda _end: None
        self._lanes = [_Lane(self._open_one, max(1, OPEN_MAX // lanes)) for _ in range(lanes)]
        self._comparing = Comparing()
        self._asked_again = 0

    async def play(self, pairs: Iterable[tuple[int, Recorded]]) -> Result:
        """Play all of them."""
        queues: list[asyncio.Queue[Step | None]] = [asyncio.Queue(WAITING_MAX) for _ in self._lanes]
        try:
            async with asyncio.TaskGroup() as playing:
                for lane, queue in zip(self._lanes, queues, strict=True):
                    playing.create_task(self._play_lane(lane, queue))
                await self._hand_out(pairs, queues)
        finally:
            for lane in self._lanes:
                await lane.close()
        return self.result

    async def _hand_out(self, pairs: Iterable[tuple[int, Recorded]], queues: list[asyncio.Queue[Step | None]]) -> None:
        for number, (end, recorded) in enumerate(pairs, 1):
            step = self._step(number, end, recorded.pair)
            if step is not None:
                await self._pace.step(step.pair.at_ms)
                await queues[step.pair.connection % len(queues)].put(step)
        for queue in queues:
            await queue.put(None)

    def _step(self, number: int, end: int, pair: Pair) -> Step | None:
        command = decoded(pair.request)
        why_not = self._choice.why_not(command.code)
        if why_not is None:
            return Step(number, end, pair, command)
        self.result.unsent[why_not] += 1
        return None

    async def _play_lane(self, lane: _Lane, queue: asyncio.Queue[Step | None]) -> None:
        while (step := await queue.get()) is not None:
            await self._play_step(lane, step)
            self.tell(step.end)

    async def _play_step(self, lane: _Lane, step: Step) -> None:
        answer = await lane.ask(step)
        self.result.sent += 1
        if step.command.is_oneway:
            self.result.oneway += 1
        elif step.pair.upstream is None:
            self.result.unanswered += 1
        else:
            await self._compare(lane, step, answer)

    async def _compare(self, lane: _Lane, step: Step, answer: bytes | None) -> None:
        finding = self._found(step, answer)
        may_ask = self._settle_s > 0 and self._asked_again < ASKED_AGAIN_MAX and not changes(step.command.code)
        if finding.outcome is Outcome.DIFFERENT and may_ask:
            finding = await self._ask_again(lane, step, finding)
        self.result.note(Shown(step.number, step.command.code, step.pair.peer, finding))

    def _found(self, step: Step, answer: bytes | None) -> Finding:
        try:
            own = clean_answer(step.command, answer)
        except UnreadableError:
            own = answer
        return self._comparing.compare(step.pair._replace(own=own))

    async def _ask_again(self, lane: _Lane, step: Step, first: Finding) -> Finding:
        self._asked_again += 1
        await self._sleep(self._settle_s)
        again = self._found(step, await lane.ask(step))
        return Finding(Outcome.SETTLED) if again.outcome in _ALIKE else first


class _Lane:
    """The connections of one lane by their recorded numbers."""

    def __init__(self, open_one: Open, open_max: int) -> None:
        self._open_one, self._open_max = open_one, open_max
        self._open: OrderedDict[int, Connection] = OrderedDict()

    async def ask(self, step: Step) -> bytes | None:
        """The answer; None if there is none, or none is due."""
        connection = await self._connection(step.pair.connection)
        has_opaque = step.pair.request[4] != 0 or b'"opaque"' in step.pair.request
        try:
            if step.command.is_oneway:
                await connection.tell(step.pair.request)
                return None
            return await connection.ask(step.pair.request, step.command.opaque if has_opaque else None)
        except NoAnswerError:
            await self._open.pop(step.pair.connection).close()
            return None

    async def close(self) -> None:
        while self._open:
            await self._open.popitem()[1].close()

    async def _connection(self, number: int) -> Connection:
        if number not in self._open:
            if len(self._open) >= self._open_max:
                await self._open.popitem(last=False)[1].close()
            self._open[number] = await self._open_one()
        self._open.move_to_end(number)
        return self._open[number]
