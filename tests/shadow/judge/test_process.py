"""The judge as a process: pairs go in, questions go to both servers, and counts come out."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interop.harness.ports import free_port
from interop.harness.wire import Client, eventually
from rocketns.protocol.command import decode
from rocketns.shadow.counting.counts import Counts
from rocketns.shadow.counting.telling import Listening
from rocketns.shadow.judge.starting import command
from rocketns.shadow.options import parse
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.pairs import PAIR_BYTES_MAX, Pair, own_began, packed
from rocketns.shadow.recording.file import Recording
from tests.shadow.frames import NOW_MS, answer, pair, request, route

WITHIN_S = 60.0
BEGAN_MS = NOW_MS - 10**9


class Fake:
    """A name server that answers each topic as ``say`` wants it; ``asked`` are the request codes it got."""

    def __init__(self, say: Callable[[str], bytes]) -> None:
        self.asked: list[int] = []
        self._say = say
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.addr = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(peer,), daemon=True).start()

    def _answer(self, peer: socket.socket) -> None:
        client = Client.__new__(Client)
        client.socket, client._buffer = peer, bytearray()
        try:
            while True:
                asked = decode(client.receive_frame())
                self.asked.append(asked.code)
                said = self._say(asked.ext("topic") or "").replace(b'"opaque":7,', b'"opaque":%d,' % asked.opaque)
                header = len(said.partition(b"}{")[0]) - 7 if b"}{" in said else len(said) - 8
                peer.sendall((len(said) - 4).to_bytes(4, "big") + header.to_bytes(4, "big") + said[8:])
        except (ConnectionError, OSError):
            peer.close()

    def close(self) -> None:
        self._socket.close()


class Running:
    """The judge's process with the relay's end of its socket."""

    def __init__(self, upstream: str, *more: str) -> None:
        self._ours, its = socket.socketpair()
        with its:
            words = command(parse(("--upstream", upstream, *more)))
            self.process = subprocess.Popen(words, stdin=its.fileno(), stdout=subprocess.DEVNULL)
        self.counts, self._listening = Counts(), Listening()
        self._ours.settimeout(WITHIN_S)

    def send(self, *pairs: Pair) -> None:
        self._ours.sendall(b"".join(map(packed, pairs)))

    def send_bytes(self, data: bytes) -> None:
        self._ours.sendall(data)

    def hear(self) -> bool:
        """Merge what it tells next; whether there was more."""
        data = self._ours.recv(1 << 20)
        for counts in self._listening.feed(data):
            self.counts.merge(counts)
        return bool(data)

    def finish(self) -> int:
        """The relay ends: the exit status."""
        self._ours.shutdown(socket.SHUT_WR)
        while self.hear():
            pass
        return self.process.wait(WITHIN_S)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(WITHIN_S)
        self._ours.close()


@contextmanager
def running(upstream: str, *more: str) -> Iterator[Running]:
    one = Running(upstream, *more)
    try:
        yield one
    finally:
        one.close()


@pytest.fixture
def fakes() -> Iterator[list[Fake]]:
    """The upstream, the own half and the reference. They agree about topic T, and not about D; the upstream and the
    reference differ in N where the own half does."""
    made = [
        Fake(lambda _: answer(route("a"))),
        Fake(lambda topic: answer(route("a" if topic == "T" else "b"))),
        Fake(lambda topic: answer(route("b" if topic == "N" else "a"))),
    ]
    yield made
    for one in made:
        one.close()


def of_topic(topic: str) -> Pair:
    return pair(answer(route("a")), answer(route("b")), request(ext={"topic": topic}))


def test_the_process_asks_again_and_tells_what_it_found(fakes: list[Fake], tmp_path: Path) -> None:
    upstream, own, reference = fakes
    record = tmp_path / "pairs.jsonl"
    with running(upstream.addr, "--reference", reference.addr, "--record", str(record)) as judge:
        judge.send(own_began(BEGAN_MS, own.addr))
        judge.send(*map(of_topic, ("T", "D", "D", "N")))
        judge.send(pair(answer(code=1), answer(), request(103)))
        eventually(lambda: judge.hear() and judge.counts.judged == 5, WITHIN_S)
        assert judge.finish() == 0
    found = {one: judge.counts.of(one) for one in Outcome if judge.counts.of(one)}
    assert found == {Outcome.SETTLED: 1, Outcome.DIFFERENT: 3, Outcome.NOISE: 1}
    assert [kept.times for kept in judge.counts.samples] == [1, 2]
    assert {code for fake in fakes for code in fake.asked} == {105}
    assert len(list(Recording(record).pairs())) == 5


def test_questions_that_wait_at_the_end_are_still_asked(fakes: list[Fake]) -> None:
    upstream, own, _ = fakes
    with running(upstream.addr) as judge:
        judge.send(own_began(BEGAN_MS, own.addr), of_topic("T"))
        assert judge.finish() == 0
    assert judge.counts.of(Outcome.SETTLED) == 1


def test_servers_that_cannot_be_asked_leave_the_difference(fakes: list[Fake]) -> None:
    with running(f"127.0.0.1:{free_port()}") as judge:
        judge.send(own_began(BEGAN_MS, fakes[1].addr), of_topic("T"))
        assert judge.finish() == 0
    (kept,) = judge.counts.samples
    assert kept.outcome is Outcome.DIFFERENT
    assert kept.note.startswith("it could not be asked again: ")


def test_bytes_that_no_relay_sends_end_the_process(fakes: list[Fake]) -> None:
    with running(fakes[0].addr) as judge:
        judge.send_bytes((PAIR_BYTES_MAX + 1).to_bytes(4, "big"))
        assert not judge.hear() or not judge.hear()
        judge.process.wait(WITHIN_S)
