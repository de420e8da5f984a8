"""Clients, switches and ends in an order that a seed decides: each request gets one whole answer, whatever happens."""

from __future__ import annotations

import asyncio
import random
import struct
from typing import Any

import pytest

from rocketns.shadow.relay.clients.plain import PlainClient
from rocketns.shadow.relay.frames.heads import head_of, header_end
from rocketns.shadow.relay.relay import Relay
from rocketns.shadow.relay.surroundings import Upstream
from rocketns.shadow.switch import Switch
from tests.shadow.relay.scene import FRAME_BYTES_MAX, Half, answer, request

CLIENTS, REQUESTS, OUTSTANDING = 6, 150, 8
CUT_EVERY = 200  # requests


class Answerer:
    """A server that answers in any order, in pieces of any size. It ends its connections each ``cuts`` requests."""

    def __init__(self, name: bytes, draw: random.Random, cuts: int = 0) -> None:
        self._name, self._draw, self._cuts, self._came = name, draw, cuts, 0
        self._writers: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        waiting: list[int] = []
        answering = asyncio.ensure_future(self._answer(writer, waiting))
        try:
            while True:
                length = await reader.readexactly(4)
                rest = await reader.readexactly(struct.unpack(">i", length)[0])
                head = head_of(length + rest, header_end(length + rest))
                assert head is not None
                waiting.append(head.opaque)
                self._came += 1
                if self._cuts and self._came % self._cuts == 0:
                    self._cut()
        except (asyncio.IncompleteReadError, ConnectionError):
            answering.cancel()
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, waiting: list[int]) -> None:
        draw = self._draw
        while True:
            await asyncio.sleep(draw.random() * 0.01)
            some = [waiting.pop(draw.randrange(len(waiting))) for _ in range(draw.randint(0, len(waiting)))]
            data = b"".join(answer(opaque, self._body(opaque)) for opaque in some)
            at = 0
            while at < len(data):
                size = draw.choice((1, 7, 100, 1000, 60_000))
                writer.write(data[at : at + size])
                at += size
                if draw.random() < 0.3:
                    await asyncio.sleep(0)

    def _body(self, opaque: int) -> bytes:
        return self._name * (opaque % 7 * self._draw.choice((1, 1, 400, 20_000)) + 1)

    def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()


async def client(port: int, number: int, draw: random.Random) -> int:
    """How many requests were answered, each once, by whole frames."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    due: set[int] = set()
    sent = done = 0
    while done < REQUESTS:
        while sent < REQUESTS and len(due) < OUTSTANDING:
            opaque = number * 100_000 + sent
            due.add(opaque)
            data = request(opaque, size=draw.choice((0, 10, 70_000)))
            cut = draw.randrange(len(data))
            writer.write(data[:cut])
            await asyncio.sleep(0)
            writer.write(data[cut:])
            sent += 1
        length = await reader.readexactly(4)
        frame = length + await reader.readexactly(struct.unpack(">i", length)[0])
        head = head_of(frame, header_end(frame))
        assert head is not None
        assert head.opaque in due, f"{head.opaque} was not asked, or is answered twice"
        body = frame[header_end(frame) :]
        assert body in (b"u" * len(body), b"o" * len(body))
        due.remove(head.opaque)
        done += 1
    writer.close()
    return done


async def run(seed: int, *, cuts_half: bool) -> Relay:
    draw = random.Random(seed)
    up, own = Answerer(b"u", draw), Answerer(b"o", draw, CUT_EVERY if cuts_half else 0)
    servers = [await asyncio.start_server(one.serve, "127.0.0.1", 0) for one in (up, own)]
    ports = [server.sockets[0].getsockname()[1] for server in servers]
    switch = Switch()
    switch.set(50, "the beginning")
    relay = Relay(Upstream("127.0.0.1", ports[0]), Half(ports[1]), switch, lambda _: True,
                  frame_bytes_max=FRAME_BYTES_MAX, connections_max=100)  # fmt: skip
    relay.start()
    listening = await asyncio.get_running_loop().create_server(lambda: PlainClient(relay), "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]

    async def play() -> None:
        while True:
            await asyncio.sleep(draw.random() * 0.03)
            switch.set(draw.choice((0, 50, 100)), "the seed")

    playing = asyncio.ensure_future(play())
    clients = (client(port, number, random.Random(seed * 100 + number)) for number in range(1, CLIENTS + 1))
    done = await asyncio.wait_for(asyncio.gather(*clients), 60)
    playing.cancel()
    assert done == [REQUESTS] * CLIENTS
    async with asyncio.timeout(60):
        while relay.sessions:
            await asyncio.sleep(0.001)
    relay.stop()
    for server in [*servers, listening]:
        server.close()
    return relay


@pytest.mark.parametrize("seed", range(1, 7))
def test_each_request_has_one_whole_answer_while_the_switch_turns(seed: int) -> None:
    relay = asyncio.run(run(seed, cuts_half=False))
    counts: Any = relay.counts
    assert counts.requests == CLIENTS * REQUESTS
    assert counts.served > 0
    assert counts.skipped == counts.given_up == counts.garbage == 0


@pytest.mark.parametrize("seed", range(11, 15))
def test_each_request_has_one_whole_answer_while_the_half_is_cut_off(seed: int) -> None:
    relay = asyncio.run(run(seed, cuts_half=True))
    assert relay.counts.requests == CLIENTS * REQUESTS
    assert relay.counts.given_up > 0
    assert relay.budget.used == 0
