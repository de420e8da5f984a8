"""More requests than the server accepts, and more answers than a client reads."""

from __future__ import annotations

import array
import fcntl
import select
import socket
import termios
import time
from collections.abc import Iterator

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.wire import Answer, Client, frame, json_header
from tests.behaviour.calls import put_kv
from tests.behaviour.conftest import Names

BUSY = (codes.SYSTEM_BUSY, "[OVERLOAD]system busy, start flow control for a while")
FLOOD = 400
# One thread and one waiting request for either pool.
NARROW = {
    "clientRequestThreadPoolNums": 1,
    "clientRequestThreadPoolQueueCapacity": 1,
    "defaultThreadPoolNums": 1,
    "defaultThreadPoolQueueCapacity": 1,
}
ROUTE, LIST = codes.GET_ROUTEINFO_BY_TOPIC, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
USUAL_RESULT = {ROUTE: codes.TOPIC_NOT_EXIST, LIST: codes.SUCCESS}
STALLED_S = 0.2
UNREAD = 80  # answers of 256 KB: more than the buffers of two sockets hold


@pytest.fixture(scope="module")
def narrow_server(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    started = server_class(tmp_path_factory.mktemp("narrow"), NARROW)
    yield started
    started.stop()


def pipeline(client: Client, wanted: list[int]) -> list[Answer]:
    """Send requests of these codes in one piece on a connection the server has accepted; the answers in request order.

    The zone keeps lookups from being answered before they reach a queue. It filters nothing.
    """
    client.request(LIST)
    headers = (json_header(code, {"topic": "none", "__ZONE_NAME": ""}, opaque=n) for n, code in enumerate(wanted))
    client.send(b"".join(frame(header) for header in headers))
    answers = {answer.opaque: answer for answer in (client.receive() for _ in wanted)}
    assert sorted(answers) == list(range(len(wanted)))
    return [answers[n] for n in range(len(wanted))]


def has_to_wait(server: NameServer, code: int) -> bool:
    """Whether requests of the code always wait in a queue: reactors answer lookups themselves, or hand them over."""
    return code != ROUTE or server.mode != RocketnsServer.mode


@pytest.mark.parametrize("code", [ROUTE, LIST])
def test_a_full_queue_answers_busy(narrow_server: NameServer, code: int) -> None:
    """B077: part of a flood is refused at once. Every request is answered, and later ones are served."""
    with narrow_server.connect() as client:
        answers = pipeline(client, [code] * FLOOD)
        results = {(answer.code, answer.remark) for answer in answers if answer.code == codes.SYSTEM_BUSY}
        assert results == {BUSY} or not (results or has_to_wait(narrow_server, code))
        assert {answer.code for answer in answers} == {USUAL_RESULT[code]} | {busy for busy, _ in results}
        assert all(answer.ext is None and answer.body is None for answer in answers if answer.code == codes.SYSTEM_BUSY)
        assert client.request(code).code == USUAL_RESULT[code]


@pytest.mark.parametrize(("flooded", "other"), [(ROUTE, LIST), (LIST, ROUTE)])
def test_one_full_queue_does_not_starve_the_other(narrow_server: NameServer, flooded: int, other: int) -> None:
    """B078: route requests and the rest wait in queues of their own."""
    with narrow_server.connect() as client:
        requests = [flooded] * FLOOD
        requests[FLOOD // 2] = other
        answers = pipeline(client, requests)
        assert answers[FLOOD // 2].code == USUAL_RESULT[other]
        if has_to_wait(narrow_server, flooded):
            assert codes.SYSTEM_BUSY in {answer.code for answer in answers}


def unread_bytes(client: Client) -> int:
    """The number of bytes that wait in the client's socket."""
    size = array.array("i", [0])
    fcntl.ioctl(client.socket, termios.FIONREAD, size)
    return size[0]


def wait_until_answers_are_stuck(client: Client) -> None:
    """Wait until the unread answers stop growing: then the socket and the server's buffer are full."""
    previous = 0
    while (unread := unread_bytes(client)) == 0 or unread > previous:
        previous = unread
        time.sleep(STALLED_S)  # no event tells that nothing more comes


def write_until_stalled(client: Client, data: bytes) -> int:
    """Send until the peer has read nothing for a while; the number of bytes sent."""
    sent = 0
    client.socket.setblocking(False)
    while sent < len(data) and select.select([], [client.socket], [], STALLED_S)[1]:
        sent += client.socket.send(data[sent : sent + 65_536])
    client.socket.settimeout(client.timeout_s)
    return sent


def test_a_client_that_does_not_read_is_not_read(server: NameServer, client: Client, names: Names) -> None:
    """B062: above the high water mark its requests wait in the socket. No connection is closed and no answer lost."""
    put_kv(client, names.topic("ns"), "k", "v" * 262_144)
    fields = {"namespace": names.topic("ns"), "key": "k"}
    client.send(b"".join(frame(json_header(codes.GET_KVLIST_BY_NAMESPACE, fields, opaque=n)) for n in range(UNREAD)))
    wait_until_answers_are_stuck(client)
    large = [frame(json_header(LIST, opaque=n), bytes(60_000)) for n in range(1000, 1400)]
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
    stream = b"".join(large)
    sent = write_until_stalled(client, stream)
    assert sent < len(stream), "24 MB were read from a client that takes no answer"
    with server.connect() as other:
        assert other.request(LIST).code == codes.SUCCESS
    whole = sent // len(large[0])
    answered = [client.receive().opaque for _ in range(UNREAD + whole)]
    assert sorted(answered) == [*range(UNREAD), *range(1000, 1000 + whole)]
    client.send(stream[sent : (whole + 1) * len(large[0])])
    assert client.receive().opaque == 1000 + whole
