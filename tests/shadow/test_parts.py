"""The shadow's processes, their pairs as bytes, and the mute half."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness import codes, payloads
from interop.harness.wire import Client, eventually
from rocketns.shadow.half.half import settings, taken_from
from rocketns.shadow.judging import JudgeLink
from rocketns.shadow.pairs import PAIR_BYTES_MAX, Pair, Unpacking, bounded, own_began, packed
from tests.shadow.frames import NOW_MS, answer, pair
from tests.support.inprocess import TimedServer
from tests.support.receiver import Receiver

ONE = Pair(7, "10.0.0.1:40000", 1_700_000_000_000, b"request", b"upstream", b"own", 1.5, 0.25)
TIMES = st.none() | st.floats(0, 1e6)
ANSWERS = st.none() | st.binary(max_size=50)
ANY = st.builds(
    Pair, st.integers(0, 2**63 - 1), st.text(max_size=20), st.integers(0, 2**53), st.binary(max_size=50),
    ANSWERS, ANSWERS, TIMES, TIMES,
)  # fmt: skip


@given(st.lists(ANY, max_size=5), st.integers(1, 30))
def test_pairs_come_out_of_pieces_of_any_size_as_they_went_in(sent: list[Pair], size: int) -> None:
    data, unpacking = b"".join(map(packed, sent)), Unpacking()
    found = [pair for start in range(0, len(data), size) for pair in unpacking.feed(data[start : start + size])]
    assert found == sent


def test_a_pair_beyond_the_limit_is_not_packed() -> None:
    large = ONE._replace(own=bytes(PAIR_BYTES_MAX))
    assert bounded(ONE)
    assert not bounded(large)
    with pytest.raises(ValueError, match="more than"):
        packed(large)


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


@pytest.mark.parametrize(("kills", "told", "lost"), [(False, LAST, 2), (True, 0, 3)])
def test_what_a_judge_tells_at_its_end_is_heard_and_what_it_never_told_is_counted_once(
    kills: bool, told: int, lost: int
) -> None:
    async def run() -> tuple[int, int, int]:
        heard: list[bytes] = []
        link = await _link(heard)
        link.send(own_began(NOW_MS, "127.0.0.1:9000"))
        assert all(link.send(PAIR) for _ in range(3))
        if kills:
            link.kill()
        else:
            link.note_told(1)
        await link.finish(WITHIN_S)
        return sum(map(len, heard)), link.take_lost(), link.take_lost()

    assert asyncio.run(run()) == (told, lost, 0)


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
    taken = taken_from(JAVA)
    assert taken == {
        "orderMessageEnable": "true", "rocketmqHome": "/opt/rocketmq", "serverWorkerThreads": "8",
        "supportActingMaster": "true",
    }  # fmt: skip


def test_the_operator_s_file_goes_before_the_upstream_and_what_a_half_must_have_before_both() -> None:
    given = {"orderMessageEnable": "false", "rocketns.mute": "false", "listenPort": "9876"}
    found = settings(given, {"orderMessageEnable": "true", "supportActingMaster": "true"}, Path("/f"), None, "")
    assert (found["orderMessageEnable"], found["supportActingMaster"]) == ("false", "true")
    assert (found["rocketns.mute"], found["listenPort"], found["bindAddress"]) == ("true", "0", "127.0.0.1")
    assert found["kvConfigPath"] == "/f/kvConfig.json"
    assert "journalPath" not in found


MUTE = {"rocketns.mute": "true", "notifyMinBrokerIdChanged": "true"}


def register(client: Client, broker_id: int, addr: str) -> None:
    body = payloads.register_body([])
    ext = payloads.register_ext(addr=addr, broker_id=broker_id, body=body)
    assert client.request(codes.REGISTER_BROKER, ext, body).code == 0


@contextmanager
def served(home: Path, properties: dict[str, object]) -> Iterator[tuple[TimedServer, Client]]:
    home.mkdir()
    server = TimedServer(home, properties)
    with server.connect() as client:
        yield server, client
    server.stop()


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
