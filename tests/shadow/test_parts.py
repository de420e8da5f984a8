"""The shadow's processes, and the mute half."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from interop.harness import codes, payloads
from interop.harness.wire import Client, eventually
from rocketns.client.name_server import UnusableError
from rocketns.client.remoting_client import RemotingClient
from rocketns.config.tls import TlsConfig
from rocketns.shadow import half
from rocketns.shadow import judge as judging_process
from rocketns.shadow.half import copied_settings, settings
from rocketns.shadow.judge import Judging, Repeater
from rocketns.shadow.judging import Judge
from rocketns.shadow.pairs import Outcome
from tests.shadow.frames import NOW_MS, answer, pair, request
from tests.support.inprocess import TimedServer
from tests.support.receiver import Receiver

WITHIN_S = 60.0
DIFFERENT = pair(answer(), answer(code=1), request(104))


class NobodyAsked(Repeater):
    """What is asked again here is a fault."""

    async def ask(self, request: bytes, own_addr: str) -> tuple[bytes, bytes, bytes]:
        raise AssertionError((request, own_addr))


@asynccontextmanager
async def judging() -> AsyncIterator[Judging]:
    """Its half is warm."""
    judge = Judge(0.0)
    judge.begin(NOW_MS)
    made = Judging(judge, NobodyAsked("127.0.0.1:1", {}), lambda: None)
    made.start()
    yield made
    await made.finish(WITHIN_S)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not is_so():
            await asyncio.sleep(0)


async def test_pairs_are_judged_in_another_process_and_all_of_them_before_the_end() -> None:
    async with judging() as judge:
        assert all(judge.send(DIFFERENT) for _ in range(3))
    counts = judge.judge.counts
    assert (counts.of(Outcome.DIFFERENT), counts.skipped, multiprocessing.active_children()) == (3, 0, [])


async def test_pairs_of_a_judge_that_was_killed_count_as_not_compared_and_later_ones_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judging_process, "START_AGAIN_S", 0.0)
    async with judging() as judge:
        counts = judge.judge.counts
        judge.send(DIFFERENT)
        await until(lambda: counts.judged == 1)
        (child,) = multiprocessing.active_children()
        child.kill()
        while not counts.skipped:
            judge.send(DIFFERENT)
            await asyncio.sleep(0)
        before = counts.judged
        judge.send(DIFFERENT)
        await until(lambda: counts.judged > before)
    assert counts.skipped >= 1


async def test_a_judge_that_cannot_be_started_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a container has no room for its semaphores."""
    monkeypatch.setattr(judging_process, "START_AGAIN_S", 0.0)
    make, refused = judging_process.ProcessPoolExecutor, [OSError("no semaphores")]

    def made(*arguments: Any) -> ProcessPoolExecutor:
        if refused:
            raise refused.pop()
        return make(*arguments)

    monkeypatch.setattr(judging_process, "ProcessPoolExecutor", made)
    async with judging() as judge:
        judge.send(DIFFERENT)
        await until(lambda: not refused)
        judge.send(DIFFERENT)
        await until(lambda: judge.judge.counts.judged > 0)
    counts = judge.judge.counts
    assert counts.judged + counts.skipped == 2


async def test_pairs_for_which_there_is_no_room_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging_process, "WAITING_BYTES_MAX", 2 * (judging_process.PAIR_BYTES + DIFFERENT.frame_bytes))
    async with judging() as judge:
        assert [judge.send(DIFFERENT) for _ in range(3)] == [True, True, False]


# What the half takes of it, and what not.
JAVA = """\
bindAddress=0.0.0.0
configStorePath=/root/namesrv/namesrv.properties
enableControllerInNamesrv=true
kvConfigPath=/root/namesrv/kvConfig.json
listenPort=9876
orderMessageEnable=true
rocketmqHome=/opt/rocketmq
scanNotActiveBrokerInterval=0
serverWorkerThreads=8
somethingElse=1
supportActingMaster=true
"""


def test_the_half_takes_the_upstream_s_properties_without_places_and_what_it_would_not_start_with() -> None:
    taken = copied_settings(JAVA)
    assert taken == {
        "orderMessageEnable": "true", "rocketmqHome": "/opt/rocketmq", "serverWorkerThreads": "8",
        "supportActingMaster": "true",
    }  # fmt: skip


def test_the_operator_s_file_goes_before_the_upstream_and_what_a_half_must_have_before_both() -> None:
    given = {"orderMessageEnable": "false", "rocketns.mute": "false", "listenPort": "9876"}
    found = settings(given, {"orderMessageEnable": "true", "supportActingMaster": "true"}, Path("/f"))
    assert (found["orderMessageEnable"], found["supportActingMaster"]) == ("false", "true")
    assert (found["rocketns.mute"], found["listenPort"], found["bindAddress"]) == ("true", "0", "127.0.0.1")
    assert found["kvConfigPath"] == "/f/kvConfig.json"


class Late:
    """An upstream that can be read from the second time on."""

    def __init__(self) -> None:
        self.reads = 0

    async def configuration(self) -> str:
        self.reads += 1
        if self.reads == 1:
            raise UnusableError("not yet")
        return JAVA

    async def kv(self, _namespace: str) -> dict[str, str]:
        return {}


async def test_a_half_that_began_without_the_upstream_s_settings_starts_again_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """At once, and without an error: nothing failed."""
    monkeypatch.setattr(half, "WATCH_EVERY_S", 0.0)
    with caplog.at_level("INFO", "rocketns.shadow"):
        ports: list[int] = []  # 0 when it ended
        client = RemotingClient(lambda: TlsConfig.read({}, {"tls.enable": "false"}))
        late = cast(Any, Late())
        own = half.OwnHalf(tmp_path, late, client, {}, lambda: ports.append(own.port or 0), settle_s=1.0)
        own.start()
        await until(lambda: len(ports) == 3)
        await own.stop()
        client.close()
    said = [one.getMessage() for one in caplog.records]
    assert sum("starts again with it" in one for one in said) == 1
    assert not [one for one in caplog.records if one.levelname == "ERROR"]
    assert "orderMessageEnable=true" in (tmp_path / "half.properties").read_text()


MUTE = {"rocketns.mute": "true", "notifyMinBrokerIdChanged": "true"}


def register(client: Client, broker_id: int, addr: str) -> None:
    body = payloads.register_body([])
    ext = payloads.register_ext(addr=addr, broker_id=broker_id, body=body)
    assert client.request(codes.REGISTER_BROKER, ext, body).code == 0


@contextmanager
def served(home: Path, properties: dict[str, object]) -> Iterator[tuple[TimedServer, Client]]:
    home.mkdir()
    with TimedServer(home, properties) as server, server.connect() as client:
        yield server, client


def test_a_mute_server_answers_as_always_and_writes_opens_and_tells_nothing(tmp_path: Path) -> None:
    """A loud server notifies the same broker and asks the same peer afterwards: each has that connection alone."""
    with ExitStack() as stack:
        peer, broker = (stack.enter_context(Receiver()) for _ in range(2))
        home, properties = tmp_path / "mute", MUTE | {"rocketns.peers": peer.addr}
        mute, client = stack.enter_context(served(home, properties))
        item = {"namespace": "n", "key": "k"}
        assert client.request(codes.PUT_KV_CONFIG, item | {"value": "v"}).code == 0
        assert client.request(codes.GET_KV_CONFIG, item).ext == {"value": "v"}
        before = (home / "timed.properties").read_bytes()
        assert client.request(codes.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true").code == 0
        assert b"orderMessageEnable=true\n" in (client.request(codes.GET_NAMESRV_CONFIG).body or b"")
        assert (home / "timed.properties").read_bytes() == before
        assert not (home / "kv.json").exists()
        loud, other = stack.enter_context(served(tmp_path / "loud", properties | {"rocketns.mute": "false"}))
        for server, one in ((mute, client), (loud, other)):
            register(one, 1, broker.addr)
            register(one, 0, broker.addr.replace("127.0.0.1", "127.0.0.2"))
            server.advance(60_000)
        broker.next()
        eventually(lambda: peer.connections)
        assert (len(broker.connections), len(peer.connections)) == (1, 1)
