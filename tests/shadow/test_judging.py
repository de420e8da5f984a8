"""The relay's end of the judge: what a judge tells at last is heard, and what it does not tell is counted."""

from __future__ import annotations

import asyncio
import sys

from rocketns.shadow.judging import JudgeLink
from rocketns.shadow.pairs import own_began
from tests.shadow.frames import NOW_MS, answer, pair

WITHIN_S = 60.0
# Instead of a judge: it reads to the end of the stream, and then tells LAST bytes.
LAST = 100_000
JUDGE = f"""
import socket
stream = socket.socket(fileno=0)
while stream.recv(65536):
    pass
stream.sendall(bytes({LAST}))
"""
PAIR = pair(answer(), answer(code=1))


async def _link(heard: list[bytes]) -> JudgeLink:
    began = asyncio.Event()
    link = JudgeLink([sys.executable, "-c", JUDGE], heard.append, began.set)
    link.start()
    await asyncio.wait_for(began.wait(), WITHIN_S)
    return link


def test_what_a_judge_tells_before_its_end_is_heard() -> None:
    async def run() -> int:
        heard: list[bytes] = []
        await (await _link(heard)).finish(WITHIN_S)
        return sum(map(len, heard))

    assert asyncio.run(run()) == LAST


def test_pairs_of_which_a_judge_told_nothing_are_counted_once() -> None:
    async def run() -> tuple[int, int]:
        link = await _link([])
        link.send(own_began(NOW_MS, "127.0.0.1:9000"))
        assert all(link.send(PAIR) for _ in range(3))
        link.note_told(1)
        await link.finish(WITHIN_S)
        return link.take_lost(), link.take_lost()

    assert asyncio.run(run()) == (2, 0)


def test_pairs_of_a_judge_that_was_killed_are_counted() -> None:
    async def run() -> int:
        link = await _link([])
        assert link.send(PAIR)
        link.kill()
        await link.finish(WITHIN_S)
        return link.take_lost()

    assert asyncio.run(run()) == 1
