"""The judge: a process of the standard library's pool compares pairs, and what differs is asked again.

The relay calls `send`. Whatever the pool does delays no answer: pairs that it has no time for are skipped.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar, cast

from rocketns.client.connection import NotSentError, OutgoingConnection
from rocketns.client.remoting_client import RemotingClient
from rocketns.config.limits import FRAME_BYTES_MAX
from rocketns.config.tls import TlsConfig
from rocketns.protocol.command import next_request_id
from rocketns.shadow.judging import Judge, Waiting, examine, examine_again, with_opaque
from rocketns.shadow.pairs import Pair

log = logging.getLogger("rocketns.shadow")

# Pairs that wait for the process; further ones are skipped. Each costs so much in addition to its frames.
WAITING_BYTES_MAX, PAIR_BYTES = 64 * 1024 * 1024, 1_000
# What goes to the process at once.
BATCH_BYTES, BATCH_PAIRS = 4 * 1024 * 1024, 500
# So long pairs come together: handing one over costs the relay as much as passing it.
COLLECTED_S = 0.05
# It yields its core to the relay and to rocketns.
NICENESS = 5
START_AGAIN_S = 1.0
ANSWER_WITHIN_S = 3.0
# Between two questions, for the upstream's sake: a wide route takes 2 ms of a Java server.
PAUSE_S = 0.02
NO_HALF = "rocketns does not answer yet"

Found = TypeVar("Found")


class Judging:
    """`start` it on the running loop. ``own_addr`` says where the own half answers, None while it does not run."""

    def __init__(self, judge: Judge, asker: Repeater, own_addr: Callable[[], str | None]) -> None:
        self.judge = judge
        self._asker, self._own_addr = asker, own_addr
        self._waiting: deque[Pair] = deque()
        self._waiting_bytes = 0
        self._has_come = asyncio.Event()
        self._is_busy = False
        self._pool: ProcessPoolExecutor | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Judge pairs as they come, and ask again what is due. The process starts with a batch of none."""
        self._has_come.set()
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._judge_pairs()), loop.create_task(self._ask_again())]

    def send(self, pair: Pair) -> bool:
        """Whether there was room."""
        size = PAIR_BYTES + pair.frame_bytes
        if self._waiting_bytes + size > WAITING_BYTES_MAX:
            return False
        self._waiting_bytes += size
        self._waiting.append(pair)
        self._has_come.set()
        return True

    async def finish(self, within_s: float) -> None:
        """End it: what waits is judged in this time."""
        deadline = time.monotonic() + within_s
        while (self._waiting or self._is_busy or self.judge.questions) and time.monotonic() < deadline:
            await asyncio.sleep(PAUSE_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        judge = self.judge
        judge.counts.skipped += len(self._waiting) + len(judge.questions) + len(judge.registrations)
        self._asker.close()
        if self._pool is not None:  # a process that hangs would not end by itself
            for process in multiprocessing.active_children():
                process.kill()
            self._pool.shutdown()

    async def _judge_pairs(self) -> None:
        while True:
            await self._has_come.wait()
            await asyncio.sleep(COLLECTED_S)
            batch = self._next_batch()
            try:
                found = await self._in_pool(examine, batch)
            except Exception as error:  # whatever a peer makes of a pair, later ones are judged
                self.judge.counts.skipped += len(batch)
                await self._note_broken(error)
            else:
                now_s = asyncio.get_running_loop().time()
                for pair, judged in zip(batch, found, strict=True):
                    self.judge.count(pair, judged, now_s)
            self._is_busy = False

    def _next_batch(self) -> list[Pair]:
        batch: list[Pair] = []
        size = 0
        while self._waiting and len(batch) < BATCH_PAIRS and size < BATCH_BYTES:
            batch.append(self._waiting.popleft())
            size += PAIR_BYTES + batch[-1].frame_bytes
        self._waiting_bytes -= size
        self._is_busy = True
        if not self._waiting:
            self._has_come.clear()
        return batch

    async def _in_pool(self, call: Callable[..., Found], *arguments: Any) -> Found:
        """BrokenProcessPool if the process ended before it had answered, OSError if there can be none."""
        if self._pool is None:
            context = multiprocessing.get_context("spawn")  # this process has threads
            self._pool = ProcessPoolExecutor(1, context, _begin)
        return await asyncio.wrap_future(self._pool.submit(call, *arguments))

    async def _note_broken(self, error: Exception) -> None:
        """A process that ended or could not be started is started again after a pause."""
        log.error("the judge ended (%s: %s): it starts again in %g s. Clients notice nothing", type(error).__name__,
                  error, START_AGAIN_S)  # fmt: skip
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)
        await asyncio.sleep(START_AGAIN_S)
        self._has_come.set()

    async def _ask_again(self) -> None:
        """One question after the other."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(PAUSE_S)
            self.judge.settle_registrations(loop.time())
            for waiting in self.judge.questions.pop_due(loop.time()):
                try:
                    await self._settle(waiting)
                except Exception as error:
                    self.judge.counts.skipped += waiting.times
                    await self._note_broken(error)
                await asyncio.sleep(PAUSE_S)

    async def _settle(self, waiting: Waiting) -> None:
        own_addr = self._own_addr()
        try:
            if own_addr is None:
                raise NotSentError(NO_HALF)
            request, upstream, own = await self._asker.ask(waiting.pair.request, own_addr)
        except NotSentError as error:
            self.judge.add_sample(waiting, f"it could not be asked again: {error}")
            return
        at_ms = time.time_ns() // 1_000_000
        pair = waiting.pair._replace(at_ms=at_ms, request=request, upstream=upstream, own=own)
        self.judge.settle(waiting, pair, await self._in_pool(examine_again, pair))


def _begin() -> None:
    """In the process of the pool: it ends with its parent, also after `kill -9`. Ctrl-C is for the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


class FrameConnection(OutgoingConnection):
    """Gives answers as they came: they are compared as bytes."""

    def resolve(self, opaque: int, frame: bytes | memoryview) -> None:
        """See OutgoingConnection."""
        self.answers.resolve(opaque, cast(Any, bytes(frame)))


class Repeater:
    """Asks the upstream and the own half a question again, over connections of its own.

    ``system`` has the properties of TLS with which the upstream is asked.
    """

    def __init__(self, upstream: str, system: Mapping[str, str]) -> None:
        self._upstream = upstream
        system_of_client = {name: text for name, text in system.items() if not name.startswith("tls.server.")}
        self._others = _client(lambda: TlsConfig.read(system_of_client, {}))
        self._plain = _client(lambda: TlsConfig.read({}, {"tls.enable": "false"}))

    async def ask(self, request: bytes, own_addr: str) -> tuple[bytes, bytes, bytes]:
        """The request as it was sent, and both answers. NotSentError if one of the two does not answer."""
        opaque = next_request_id()
        frame = with_opaque(request, opaque)
        upstream, own = await asyncio.gather(
            *(
                client.invoke_reading(
                    addr, opaque, frame, ANSWER_WITHIN_S, lambda answer: cast(bytes, answer), FRAME_BYTES_MAX
                )
                for client, addr in ((self._others, self._upstream), (self._plain, own_addr))
            )
        )
        return frame, upstream, own

    def close(self) -> None:
        """End its connections."""
        self._others.close()
        self._plain.close()


def _client(read_tls: Callable[[], TlsConfig]) -> RemotingClient:
    return RemotingClient(read_tls, failures=logging.DEBUG, make_connection=FrameConnection)
