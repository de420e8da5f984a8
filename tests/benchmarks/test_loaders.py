"""The load programs against the simple C server, and against a server that delays its answers."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.failures import CellFailed
from benchmarks.loading import load
from benchmarks.servers.kinds import C, all_kinds
from benchmarks.servers.running import Needs, Server
from interop.harness import codes
from interop.harness.wire import Client, frame, json_header

BODY = b'{"brokerDatas":[]}'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    one = Server(all_kinds()[C], tmp_path_factory.mktemp("c") / "home", Needs(BODY))
    yield one
    one.kill()


@pytest.mark.parametrize("encoding", ["json", "rocketmq", "json-signed", "rocketmq-signed"])
def test_nsload_counts_the_answers_of_a_closed_loop(server: Server, encoding: str) -> None:
    found = load.lookups(server, connections=3, depth=4, encoding=encoding, topics=10, seconds=0.05)
    assert found.requests >= 12
    assert found.errors == 0
    assert 0 < found.p50_us <= found.p99_us
    assert found.cpu_us > 0


@pytest.mark.flaky(reruns=4)  # a closed loop falls behind while other tests want the cores
@pytest.mark.parametrize("loop", ["open", "closed"])
def test_nspaced_sends_at_its_rate(server: Server, loop: str) -> None:
    found = load.paced(server, connections=8, rate=2000, loop=loop, topics=10, seconds=0.2, warm_s=0.05)
    assert (280 if loop == "open" else 40) <= found.requests <= 520
    assert (found.errors, found.unanswered) == (0, 0)
    assert 0 < found.p50_us <= found.p99_us <= found.p999_us


def test_nsbulk_counts_answers_by_their_bytes(server: Server) -> None:
    found = load.bulk(server, connections=2, depth=16, encoding="json", topics=10, seconds=0.05)
    assert found.requests > 0


def test_the_simple_c_server_answers_any_form_of_a_request(server: Server) -> None:
    with Client(server.port) as client:
        for opaque in (1, 12345, 123456789, 7):
            client.send(frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "t"}, opaque=opaque)))
            answer = client.receive()
            assert (answer.header["opaque"], answer.body) == (opaque, BODY)
        assert not client.request(codes.GET_BROKER_CLUSTER_INFO).body


def test_the_simple_c_server_says_yes_when_all_bytes_of_a_registration_are_there(server: Server) -> None:
    with Client(server.port) as client:
        for size in (0, 10, 3_000_000):
            client.send(frame(json_header(codes.REGISTER_BROKER, {}, opaque=size + 1), b"x" * size))
            assert client.receive().header["opaque"] == size + 1


@dataclass
class Keeping:
    """A server of one connection that answers nothing until it has ``kept`` requests, then everything at once."""

    kept: int
    code: int = 0

    def __enter__(self) -> Keeping:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pid = os.getpid()
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
        self.thread.join()

    def check_alive(self) -> None:
        """As a server's process."""

    def _serve(self) -> None:
        connection, _ = self.listener.accept()
        with connection, connection.makefile("rb") as stream:
            waiting: list[bytes] = []
            asked = 0
            while len(head := stream.read(4)) == 4:
                request = stream.read(int.from_bytes(head, "big"))
                opaque = int(request.split(b'"opaque":')[1].split(b",")[0])
                code = self.code if asked else 0
                header = b'{"code":%d,"opaque":%d}' % (code, opaque)
                waiting.append(frame(header, BODY))
                asked += 1
                # The first is what a load program asks before it begins.
                if asked == 1 or asked > self.kept:
                    connection.sendall(b"".join(waiting))
                    waiting.clear()


def test_an_open_loop_goes_on_while_the_server_is_silent_and_counts_from_when_requests_were_due() -> None:
    """No coordinated omission. At 500 requests a second the server holds the first 50 until the 50th arrives, so the
    first waits about 100 ms, and half of them wait 50 ms or more."""
    with Keeping(50) as keeping:
        found = load.paced(keeping, connections=1, rate=500, loop="open", topics=5, seconds=0.2, warm_s=0)  # type: ignore[arg-type]
    assert found.requests > 60
    assert found.p99_us > 60_000
    assert found.p50_us > 1_000
    assert found.sent_p99_us < found.p99_us


def test_an_answer_without_a_route_is_an_error() -> None:
    with Keeping(0, code=17) as keeping, pytest.raises(CellFailed, match="code 17"):
        load.paced(keeping, connections=1, rate=500, loop="open", topics=5, seconds=0.05, warm_s=0)  # type: ignore[arg-type]


def test_a_server_that_hangs_up_is_a_failed_cell(tmp_path: Path) -> None:
    one = Server(all_kinds()[C], tmp_path / "home", Needs(BODY))
    one.kill()
    with pytest.raises(CellFailed):
        load.lookups(one, connections=1, depth=1, encoding="json", topics=1, seconds=0.05)
