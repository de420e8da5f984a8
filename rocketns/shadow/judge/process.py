"""The judge's process: pairs come on a socket that is its standard input, and counts go back on it."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time

from rocketns.shadow.counting.kept import KEPT_MAX
from rocketns.shadow.counting.telling import TOLD_BYTES_MAX, TOLD_KEPT_MAX, told
from rocketns.shadow.judge.asking import Asker
from rocketns.shadow.judge.judging import Judge
from rocketns.shadow.judge.questions import Again
from rocketns.shadow.judge.waiting import PAUSE_S, Waiting
from rocketns.shadow.pairs import Unpacking

log = logging.getLogger("rocketns.shadow")

TELL_EVERY_S = 1.0
# After the last pair: so long the questions that wait are still asked.
LAST_WITHIN_S = 5.0
# It yields its core to the relay and to rocketns.
NICENESS = 5
NO_HALF = "rocketns does not answer yet"


class Inlet(asyncio.Protocol):
    """Judges what comes as it comes. While it is busy the socket fills up, and the relay skips pairs."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._unpacking = Unpacking()
        self.ended = asyncio.Event()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for pair in self._unpacking.feed(data):
            self._judge.take(pair, asyncio.get_running_loop().time())

    def eof_received(self) -> bool:
        self.ended.set()
        return True  # its counts still go out

    def connection_lost(self, _error: Exception | None) -> None:
        self.ended.set()

    def tell(self) -> None:
        """Send what was counted, unless the relay reads nothing: then it is told later."""
        if self.transport is not None and self.transport.get_write_buffer_size() < TOLD_BYTES_MAX:
            self.transport.write(told(self._judge.take_counts()))


async def run(judge: Judge, asker: Asker) -> None:
    """Until the relay ends the stream, and what waits was asked again."""
    os.nice(NICENESS)
    loop = asyncio.get_running_loop()
    inlet = Inlet(judge)
    with socket.socket(fileno=0) as pairs:
        pairs.setblocking(False)
        await loop.create_connection(lambda: inlet, sock=pairs)
        asking = AskingAgain(judge, asker)
        tasks = [loop.create_task(asking.run()), loop.create_task(_tell(inlet))]
        for task in tasks:
            task.add_done_callback(lambda _: inlet.ended.set())  # a fault ends the process, which is started again
        await inlet.ended.wait()
        deadline = loop.time() + LAST_WITHIN_S
        while asking.is_busy and loop.time() < deadline:
            await asyncio.sleep(PAUSE_S)
        for task in tasks:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        await _end(inlet, asker, judge)
        for error in found:
            if isinstance(error, Exception):
                raise error


async def _end(inlet: Inlet, asker: Asker, judge: Judge) -> None:
    asker.close()
    inlet.tell()
    for _ in range(KEPT_MAX // TOLD_KEPT_MAX):
        if len(judge.counts.samples):
            inlet.tell()
    if inlet.transport is not None:
        inlet.transport.write_eof()
        inlet.transport.close()
    await asyncio.sleep(0)


async def _tell(inlet: Inlet) -> None:
    while True:
        await asyncio.sleep(TELL_EVERY_S)
        inlet.tell()


class AskingAgain:
    """Asks one question after the other. ``is_busy`` while one waits, or its answers."""

    def __init__(self, judge: Judge, asker: Asker) -> None:
        self._judge, self._asker = judge, asker
        self._asks = False

    @property
    def is_busy(self) -> bool:
        return self._asks or len(self._judge.questions) > 0

    async def run(self) -> None:
        """Until it is cancelled."""
        loop, judge = asyncio.get_running_loop(), self._judge
        while True:
            await asyncio.sleep(PAUSE_S)
            waiting = judge.questions.take_due(loop.time())
            if waiting is not None:
                self._asks = True
                await self._settle(waiting)
                self._asks = False

    async def _settle(self, waiting: Waiting) -> None:
        if not waiting.asks:
            self._judge.settle(waiting, await self._ask(waiting.pair.request), _epoch_ms())
            return
        answers = []
        for request in waiting.asks:
            answers.append(await self._ask(request))
            await asyncio.sleep(PAUSE_S)
        self._judge.settle_registration(waiting, answers, _epoch_ms())

    async def _ask(self, request: bytes) -> Again:
        own_addr = self._judge.own_addr
        return Again(failure=NO_HALF) if own_addr is None else await self._asker.ask(request, own_addr)


def _epoch_ms() -> int:
    return round(time.time() * 1000)
