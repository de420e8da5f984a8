"""A pipelined stream of requests, cut anywhere: a reactor gives every request the reference's answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client, frame, json_header
from tests.fast.clients import CLIENTS, look_up
from tests.support.live import LiveServer

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
@settings(max_examples=60, deadline=None)
def test_a_stream_may_be_cut_anywhere(server: LiveServer, frames: list[bytes], cuts: list[int]) -> None:
    expected = [server.reference(one) for one in frames]
    with server.connect() as client:
        sent_in_pieces(client, b"".join(frames), cuts)
        answers = [client.receive_frame() for _ in frames]
    assert sorted(answers) == sorted(expected)


def test_lookups_alone_are_answered_in_their_order_by_reactors(server: LiveServer) -> None:
    frames = [look_up(CLIENTS[opaque % len(CLIENTS)], TOPICS[opaque % 3], opaque) for opaque in range(1500)]
    before = server.answered_by_reactors()
    with server.connect() as client:
        expected = [server.reference(one) for one in frames[:30]]
        client.socket.setblocking(True)
        client.send(b"".join(frames))
        answers = [client.receive_frame() for _ in frames]
    assert answers[:30] == expected
    assert [b'"opaque":%d,' % opaque in answer for opaque, answer in enumerate(answers)] == [True] * 1500
    assert server.answered_by_reactors() - before == 1500


def test_a_peer_that_reads_late_gets_everything(server: LiveServer) -> None:
    """Answers wait in the reactor, which stops reading meanwhile. Both continue when the peer reads."""
    frames = [look_up(CLIENTS[0], "wide", opaque) for opaque in range(300)]
    expected = server.reference(frames[0])
    with server.connect() as client:
        client.socket.settimeout(1)
        sent, stream = 0, b"".join(frames)
        try:
            sent = client.socket.send(stream)
        except TimeoutError:
            pytest.fail("the server read nothing at all")
        client.socket.settimeout(60)
        answers = []
        while len(answers) < len(frames):
            answers.append(client.receive_frame())
            if sent < len(stream):
                sent += client.socket.send(stream[sent:])
    assert answers[0] == expected
    assert {len(answer) for answer in answers} <= set(range(len(expected), len(expected) + 3))
