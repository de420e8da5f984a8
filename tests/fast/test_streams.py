"""Reactors under load: streams cut anywhere, connections that come and go, turns, floods, topics without a route."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually, frame, json_header
from tests.compiled.parts import carried
from tests.fast.lookups import CLIENTS, look_up, looked_up
from tests.support.certificates import Files, authority
from tests.support.inprocess import TimedServer
from tests.support.live import LiveServer
from tests.support.proxyheaders import v1
from tests.support.tlsclient import TlsPeer
from tests.support.tlsfiles import tls_properties

WIDE = 150  # brokers of one topic: its answer is some 30 KB
TOPICS = ["T1", "wide", "nobody's"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with LiveServer(tmp_path_factory.mktemp("streams")) as started, started.connect() as brokers:
        for number in range(WIDE):
            body = register_body([topic_config("wide"), topic_config("T1" if number == 0 else "T2")])
            brokers.request(103, register_ext(broker=f"b{number}", addr=f"10.0.0.{number}:1", body=body), body)
        yield started


@st.composite
def requests(draw: st.DrawFn) -> list[bytes]:
    """Lookups for reactors, lookups for control, and others; each with an opaque of its own."""
    kinds = draw(st.lists(st.sampled_from(["fast", "fast", "fast", "zone", "other"]), min_size=1, max_size=40))
    frames = []
    for opaque, kind in enumerate(kinds):
        if kind == "fast":
            frames.append(look_up(draw(st.sampled_from(CLIENTS)), draw(st.sampled_from(TOPICS)), opaque))
        elif kind == "zone":
            ext = {"topic": "T1", "__ZONE_MODE": "true", "__ZONE_NAME": "z"}
            frames.append(frame(json_header(105, ext, opaque=opaque)))
        else:
            frames.append(frame(json_header(draw(st.sampled_from([206, 901, 3])), {}, opaque=opaque)))
    return frames


def sent_in_pieces(client: Client, stream: bytes, cuts: list[int]) -> None:
    places = sorted({cut % len(stream) for cut in cuts})
    for start, end in zip([0, *places], [*places, len(stream)], strict=True):
        client.send(stream[start:end])


@given(requests(), st.lists(st.integers(0, 100_000), max_size=25))
@example([look_up(CLIENTS[0], "wide", opaque) for opaque in range(100)], [])
@example([look_up(CLIENTS[0], "T1", opaque) for opaque in range(600)], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
@example([look_up(CLIENTS[0], "T1", 1), frame(json_header(206, opaque=2)), look_up(CLIENTS[0], "T1", 3)], [1, 160])
@settings(deadline=None)
def test_a_stream_may_be_cut_anywhere(server: LiveServer, frames: list[bytes], cuts: list[int]) -> None:
    expected = [server.reference(one) for one in frames]
    with server.connect() as client:
        sent_in_pieces(client, b"".join(frames), cuts)
        answers = [client.receive_frame() for _ in frames]
    assert sorted(answers) == sorted(expected)


# A descriptor is the place of a connection, and the next one gets it.


def test_an_answer_for_a_closed_connection_does_not_reach_the_next_one_at_its_place(tmp_path: Path) -> None:
    """Control may answer before it learns that the connection is gone."""
    with LiveServer(tmp_path, reactors=1) as server:
        with server.connect() as gone:
            looked_up(gone)
            server.settle()
            number = server.connection_of(gone)._number
        eventually(lambda: carried(server.reactors) == [0], every_s=0.001)
        with server.connect() as client:
            expected = looked_up(client)
            server.call(lambda: server.reactors.reply(number, 0, b"not for you"))
            server.settle()
            assert looked_up(client) == expected


def test_waiting_bytes_are_given_back(tmp_path: Path) -> None:
    """Bytes of handed-over frames and of control's answers are counted only while they wait."""
    body = register_body([topic_config(f"T{n}") for n in range(500)])
    with LiveServer(tmp_path) as server, server.connect() as client:
        for _ in range(20):
            client.request(103, register_ext(body=body), body)
            client.request(206)
        server.settle()
        reactors = server.reactors
        assert (reactors.queued_bytes, reactors.replied_bytes, reactors.incoming_bytes) == (0, 0, 0)


def test_the_reactors_get_new_connections_in_turn(tmp_path: Path) -> None:
    """Whatever they begin with."""
    with LiveServer(tmp_path, reactors=3) as server, ExitStack() as stack:
        for _ in range(6):
            looked_up(stack.enter_context(server.connect()))
        assert carried(server.reactors) == [2, 2, 2]
        for _ in range(3):
            client = stack.enter_context(server.connect())
            client.send(v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443))
            looked_up(client)
        assert carried(server.reactors) == [3, 3, 3]


def test_a_connection_that_shakes_hands_counts_until_it_is_closed(tmp_path: Path) -> None:
    """rocketns.connectionsMax is for all threads together."""
    with LiveServer(tmp_path, reactors=1) as server:
        with server.connect() as client:
            client.send(b"\x16")  # as TLS begins
            eventually(lambda: server.handshaking == 1)
            assert server.reactors.connections == 1
        eventually(lambda: server.reactors.connections == 0)


# Limits of one turn of a connection: bytes of answers, and memory for waiting input.

TURN_BYTES_MAX = 256 * 1024  # turns.pyx
WIDE_ENOUGH = 60  # brokers of one topic: its answer is some 10 KB
LOOK_UPS = 200  # fewer than a turn has frames, and all of them fit into one `recv`
IN_FLIGHT_MAX = 100
SMALL_INPUT_MAX = 4096  # connection.pyx


@pytest.fixture
def small_turns(tmp_path: Path) -> Iterator[LiveServer]:
    settings = {"rocketns.inFlightMax": IN_FLIGHT_MAX, "serverSocketSndBufSize": 0}  # the system's buffers: megabytes
    with LiveServer(tmp_path, reactors=1, **settings) as started:
        yield started


def test_answers_of_one_turn_are_bounded_by_bytes(small_turns: LiveServer) -> None:
    """A pipeline with large answers gets only a few of them in each round of the loop, so others are served between."""
    with small_turns.connect() as client:
        for number in range(WIDE_ENOUGH):
            body = register_body([topic_config("wide"), topic_config("other")])
            client.request(103, register_ext(broker=f"b{number}", addr=f"10.0.0.{number}:1", body=body), body)
        size = len(looked_up(client, "wide"))
        small_turns.settle()
        before = sum(small_turns.reactors.rounds)
        client.send(look_up(CLIENTS[0], "wide") * LOOK_UPS)
        for _ in range(LOOK_UPS):
            client.receive_frame()
        rounds = sum(small_turns.reactors.rounds) - before
    assert rounds >= LOOK_UPS * size // (TURN_BYTES_MAX + size)


RECORDS_BYTES_AT_ONCE = 32 * 1024  # turns.pyx


def test_records_of_one_byte_are_bounded_in_a_turn(tmp_path: Path) -> None:
    """OpenSSL takes a millisecond for 1,000 of them, however little that is in bytes."""
    settings = {"rocketns.inFlightMax": 1, "serverSocketRcvBufSize": 0}  # all of it waits in the socket
    files = tls_properties(Files.write(tmp_path / "files", authority("ours").issue("server")))
    with LiveServer(tmp_path, reactors=1, **settings, **files) as server, server.connect() as client:
        peer, request = TlsPeer(), look_up(CLIENTS[0], "nobody's")
        peer.connect(client)
        with server.held_still():
            client.send(peer.encrypt(frame(json_header(9999))))
            records = b"".join(peer.encrypt(bytes([byte])) for byte in request * 100)
            client.send(records)
            before = sum(server.reactors.rounds)
        plain = b""
        while plain.count(b'"code":17') < 100:
            plain += peer.decrypt(client.socket.recv(1 << 16))
        assert sum(server.reactors.rounds) - before >= len(records) // RECORDS_BYTES_AT_ONCE


def test_the_rest_of_a_burst_keeps_no_large_buffer(small_turns: LiveServer) -> None:
    """Requests that waited and end in the middle of a frame: only the unfinished frame and little else is kept."""
    request = frame(json_header(9999), bytes(500))
    unfinished = request[:50]
    with small_turns.connect() as client:
        with small_turns.held_still():
            client.send(request * 2 * IN_FLIGHT_MAX + unfinished)
        for _ in range(2 * IN_FLIGHT_MAX):
            client.receive()
        small_turns.settle()
        eventually(lambda: small_turns.reactors.incoming_bytes <= SMALL_INPUT_MAX + len(unfinished))


# More lookups in one piece than a connection's turn can answer.

MORE_THAN_A_TURN = 2_000


def test_lookups_beyond_a_turn_are_answered_without_further_bytes(tmp_path: Path) -> None:
    with LiveServer(tmp_path, reactors=1) as server, server.connect() as client:
        expected = server.reference(look_up(CLIENTS[0], "nobody's"))
        client.send(look_up(CLIENTS[0], "nobody's") * MORE_THAN_A_TURN)
        for _ in range(MORE_THAN_A_TURN):
            assert client.receive_frame() == expected


# The topics without a route that a reactor noted: whole names, a bounded table, and who replaces whom.

PLACES = 128  # MISSED_MAX of routes/asked_topics.pxd
TOPIC_BYTES_MAX = 255
Row = tuple[str, int, int, bytes | None, int]


@pytest.fixture
def noting_server(tmp_path: Path) -> Iterator[TimedServer]:
    """With one reactor. Its clock stands still, so that nobody but a test empties the table."""
    with TimedServer(tmp_path, {"rocketns.reactors": 1}) as started:
        yield started


def look_up_topics(client: Client, *topics: str) -> None:
    """All of them at once."""
    frames = [frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})) for topic in topics]
    client.send(b"".join(frames))
    assert {client.receive().code for _ in topics} == {codes.TOPIC_NOT_EXIST}


def noted(noting_server: TimedServer) -> list[Row]:
    reactors = noting_server.reactors
    return noting_server.call(reactors.drain_missing)


def another_host(noting_server: TimedServer, client: Client) -> Client:
    """One with another number than the client's. One host in 1,024 has the same, see connections/hosts.pyx."""
    look_up_topics(client, "a")
    [row] = noted(noting_server)
    for last in range(2, 10):
        other = Client(noting_server.port, source=f"127.0.0.{last}")
        look_up_topics(other, "a")
        if noted(noting_server)[0][4] != row[4]:
            return other
        other.close()
    raise AssertionError("all hosts have one number")


def test_names_of_all_lengths_are_noted_whole(noting_server: TimedServer) -> None:
    """Longer ones than any topic has are answered, too, but not noted."""
    with noting_server.connect() as client:
        for first in range(1, TOPIC_BYTES_MAX + 20, 16):
            topics = [str(length % 10) * length for length in range(first, first + 16)]
            look_up_topics(client, *topics)
            assert {row[0] for row in noted(noting_server)} == {
                topic for topic in topics if len(topic) <= TOPIC_BYTES_MAX
            }


def test_a_flood_fills_the_table_and_replaces_its_own(noting_server: TimedServer) -> None:
    flood = [f"flood-{number}" for number in range(8 * PLACES)]
    with noting_server.connect() as client, another_host(noting_server, client) as other:
        look_up_topics(client, *flood)
        look_up_topics(other, "real")
        look_up_topics(client, *(f"more-{topic}" for topic in flood))
        rows = noted(noting_server)
    assert len(rows) == PLACES
    assert {row[0] for row in rows} <= {"real", *flood, *(f"more-{topic}" for topic in flood)}
    assert "real" in {row[0] for row in rows}
    assert len({row[0] for row in rows}) == PLACES


def test_a_newcomer_has_the_counts_of_nobody(noting_server: TimedServer) -> None:
    """The place of a topic that was replaced starts again."""
    with noting_server.connect() as client:
        for start in range(0, 4 * PLACES, PLACES):
            look_up_topics(client, *[f"flood-{number}" for number in range(start, start + PLACES)] * 2)
        assert all(row[1] <= 2 for row in noted(noting_server))
