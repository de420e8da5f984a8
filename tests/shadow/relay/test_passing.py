"""In pass mode a client's connection is as if the relay were not there, whatever the own half does."""

from __future__ import annotations

import socket

import pytest

from interop.harness.wire import eventually
from rocketns.shadow.relay import relay
from rocketns.shadow.relay.frames.budget import Budget
from tests.shadow.relay.scene import (
    STUCK_BYTES_MAX,
    WITHIN_S,
    Scene,
    answer,
    asked,
    left,
    passed,
    request,
    sent_until_full,
)


def test_a_client_s_bytes_reach_both_servers_before_its_frame_ends(scene: Scene) -> None:
    client, up, own = scene.connected()
    part = request(7, size=100)[:50]
    client.send(part)
    up.expect(part)
    own.expect(part)


def test_a_part_of_the_upstream_s_answer_reaches_the_client_before_its_end(scene: Scene) -> None:
    client, up, _ = scene.connected()
    asked(client, up, request(7))
    part = answer(7, b"x" * 1000)[:500]
    up.send(part)
    client.expect(part)


def test_an_answer_that_came_twice_in_pieces_of_one_byte_is_whole(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7))
    for byte in answer(7):
        up.send(bytes([byte]))
        own.send(bytes([byte]))
    client.expect(answer(7))
    eventually(lambda: scene.counts.equal == 2)


def test_answers_that_differ_go_to_the_judge_with_their_request(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7))
    up.send(answer(7, b"theirs"))
    own.send(answer(7, b"ours"))
    client.expect(answer(7, b"theirs"))
    eventually(lambda: scene.judged)
    pair = scene.judged[0]
    assert (pair.request, pair.upstream, pair.own) == (request(7), answer(7, b"theirs"), answer(7, b"ours"))


def test_answers_in_another_order_are_paired_by_their_opaque(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7) + request(8))
    up.send(answer(8, b"8") + answer(7, b"7"))
    own.send(answer(7, b"7") + answer(8, b"8"))
    client.expect(answer(8, b"8") + answer(7, b"7"))
    eventually(lambda: scene.counts.equal == 3)


def test_two_open_requests_with_one_opaque_are_not_compared_when_their_answers_differ(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7) + request(7))
    up.send(answer(7, b"1") + answer(7, b"2"))
    own.send(answer(7, b"2") + answer(7, b"1"))
    client.expect(answer(7, b"1") + answer(7, b"2"))
    eventually(lambda: scene.counts.skipped == 2)
    assert not scene.judged


def test_a_oneway_request_waits_for_no_answer(scene: Scene) -> None:
    client, up, _ = scene.connected()
    asked(client, up, request(7, flag=2))
    eventually(lambda: scene.counts.oneway == 1)
    scene.advance(60)
    assert not scene.judged


def test_a_pair_that_lacks_the_own_answer_is_judged_as_missing_it(scene: Scene) -> None:
    client, up, _ = scene.connected()
    asked(client, up, request(7))
    up.send(answer(7))
    client.expect(answer(7))
    scene.advance(11)
    assert [(pair.upstream, pair.own) for pair in scene.judged] == [(answer(7), None)]


def test_a_request_of_the_upstream_passes_and_one_of_the_half_does_not(scene: Scene) -> None:
    client, up, own = scene.connected()
    own.send(request(1, code=905, flag=2))
    up.send(request(2, code=905, flag=2))
    client.expect(request(2, code=905, flag=2))


def test_a_client_s_half_close_reaches_both_servers_and_answers_still_come(scene: Scene) -> None:
    client, up, own = scene.connected()
    client.socket.shutdown(socket.SHUT_WR)
    assert up.ends()
    assert own.ends()
    up.send(answer(7))
    client.expect(answer(7))


def test_a_client_s_reset_reaches_the_upstream_as_one(scene: Scene) -> None:
    client, up, _ = scene.connected()
    client.reset()
    assert up.is_reset()


def test_the_upstream_s_end_reaches_the_client(scene: Scene) -> None:
    client, up, _ = scene.connected()
    up.close()
    assert client.ends()


def test_the_upstream_s_reset_reaches_the_client_as_one(scene: Scene) -> None:
    client, up, _ = scene.connected()
    up.reset()
    assert client.is_reset()


def test_an_end_by_the_half_alone_is_counted_and_the_client_stays(scene: Scene) -> None:
    client, up, own = scene.connected()
    own.close()
    eventually(lambda: scene.counts.given_up == 1)
    scene.advance(4)
    assert scene.counts.closed == 1
    asked(client, up, request(7))


def test_an_end_by_the_upstream_alone_is_counted(scene: Scene) -> None:
    client, up, _ = scene.connected()
    up.close()
    assert client.ends()
    client.close()
    eventually(lambda: not scene.relay.sessions or next(iter(scene.relay.sessions)).up is None)
    scene.advance(4)
    assert scene.counts.closed == 1


def test_an_end_by_both_is_no_difference(scene: Scene) -> None:
    client, up, own = scene.connected()
    own.close()
    eventually(lambda: scene.counts.given_up == 1)
    up.close()
    assert client.ends()
    client.close()
    eventually(lambda: not scene.counts.open)
    scene.advance(4)
    assert scene.counts.closed == 0


def test_garbage_reaches_both_servers(scene: Scene) -> None:
    client = scene.connect()
    up = scene.up.accept()
    client.send(b"GET / HTTP/1.1\r\n\r\n")
    up.expect(b"GET / HTTP/1.1\r\n\r\n")
    scene.own.accept().expect(b"GET / HTTP/1.1\r\n\r\n")
    up.send(b"HTTP/1.1 400 no\r\n\r\n")
    client.expect(b"HTTP/1.1 400 no\r\n\r\n")
    assert scene.counts.garbage > 0


def test_tls_passes_unread_and_the_half_gets_nothing_of_it(scene: Scene) -> None:
    client = scene.connect()
    up = scene.up.accept()
    client.send(b"\x16\x03\x01\x02\x00hello")
    up.expect(b"\x16\x03\x01\x02\x00hello")
    up.send(b"\x16\x03\x03 server")
    client.expect(b"\x16\x03\x03 server")
    assert (scene.counts.tls, scene.counts.garbage) == (1, 0)


def test_a_frame_after_a_proxy_header_is_read(scene: Scene) -> None:
    client = scene.connect()
    header = b"PROXY TCP4 10.0.0.1 10.0.0.2 1000 9876\r\n"
    up = scene.up.accept()
    client.send(header + request(7))
    up.expect(header + request(7))
    eventually(lambda: scene.counts.requests == 1)


def test_a_half_that_does_not_run_is_not_missed_and_joins_at_the_next_frame_when_it_does(scene: Scene) -> None:
    port, scene.half.port = scene.half.port, None
    client = scene.connect()
    up = scene.up.accept()
    asked(client, up, request(7))
    scene.half.port = port
    scene.advance(2)
    client.send(request(8)[:10])
    up.expect(request(8)[:10])
    own = scene.own.accept()
    client.send(request(8)[10:])
    own.expect(request(8))


def test_a_half_that_reads_nothing_is_given_up_and_delays_nothing() -> None:
    budget = Budget(4 * 1024 * 1024)
    scene = Scene(budget)
    try:
        client, up, _ = scene.connected()
        large = request(7, size=8 * 1024 * 1024)
        client.socket.setblocking(False)
        sent = received = 0
        for _ in range(4):  # 32 MiB: more than two sockets and the budget hold
            at = 0
            while at < len(large):
                try:
                    at += client.socket.send(large[at : at + 65_536])
                except BlockingIOError:
                    received += len(up.socket.recv(1 << 20))
            sent += at
        while received < sent:
            received += len(up.socket.recv(1 << 20))
        assert budget.used <= budget.most
        eventually(lambda: scene.counts.given_up >= 1)
    finally:
        scene.close()


def test_an_upstream_that_sends_to_a_client_that_does_not_read_is_not_read_either(scene: Scene) -> None:
    _, up, _ = scene.connected()
    assert sent_until_full(up, answer(7, b"x" * 1_000_000)) < STUCK_BYTES_MAX


def test_a_client_is_not_read_while_the_upstream_does_not_read(scene: Scene) -> None:
    client, _, _ = scene.connected()
    assert sent_until_full(client, request(7, size=1_000_000)) < STUCK_BYTES_MAX


def test_more_open_requests_than_a_connection_may_have_are_forgotten_and_not_answered_less(scene: Scene) -> None:
    client, up, _ = scene.connected()
    many = b"".join(request(number) for number in range(10_000, 15_000))
    client.send(many)
    up.expect(many)
    up.send(answer(10_000) + answer(14_999))
    client.expect(answer(10_000) + answer(14_999))
    assert scene.counts.skipped >= 900


def test_a_client_finds_no_connection_where_the_upstream_is_gone(scene: Scene) -> None:
    scene.up.close()
    assert scene.connect().ends()


def test_a_broker_s_connection_that_the_half_lost_is_said(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7, code=103))
    eventually(lambda: scene.counts.requests == 2)
    own.close()
    eventually(lambda: scene.half.unsettled)


def test_a_connection_that_a_client_ended_is_no_loss_of_a_broker(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7, code=103))
    left(client, up)
    own.close()
    eventually(lambda: not scene.counts.open)
    assert (scene.half.unsettled, scene.counts.given_up) == ([], 0)


def test_the_upstream_is_told_the_client_s_address_where_it_takes_that() -> None:
    scene = Scene(proxy_protocol=True)
    try:
        client = scene.connect()
        port = client.socket.getsockname()[1]
        scene.up.accept().expect(f"PROXY TCP4 127.0.0.1 127.0.0.1 {port} {scene.port}\r\n".encode())
    finally:
        scene.close()


def test_the_judge_gets_the_first_pair_of_each_connection_to_know_the_client(scene: Scene) -> None:
    scene.connected()
    client, up, own = scene.connected()
    asked(client, up, request(8))
    up.send(answer(8))
    own.send(answer(8))
    client.expect(answer(8))
    eventually(lambda: scene.counts.equal == 3)
    assert [pair.connection for pair in scene.introduced] == [1, 2]


def test_an_answer_of_the_half_that_comes_after_the_client_left_is_compared(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7))
    up.send(answer(7, b"theirs"))
    client.expect(answer(7, b"theirs"))
    left(client, up)
    own.expect(request(7))
    assert own.ends()
    own.send(answer(7, b"ours"))
    eventually(lambda: scene.counts.open == 0)
    assert [(pair.upstream, pair.own) for pair in scene.judged] == [(answer(7, b"theirs"), answer(7, b"ours"))]
    assert scene.counts.left == 0


def test_a_client_that_asks_and_leaves_before_the_half_is_connected_is_compared(scene: Scene) -> None:
    client = scene.connect()
    up = scene.up.accept()
    passed(client, up)
    left(client, up)
    own = scene.own.accept()
    own.expect(request(7))
    own.send(answer(7))
    eventually(lambda: (scene.counts.equal, scene.counts.open) == (1, 0))
    own.close()


def test_a_half_that_never_answers_a_client_that_left_is_missed_after_ten_seconds(scene: Scene) -> None:
    client, up, _ = scene.connected()
    passed(client, up)
    left(client, up)
    eventually(lambda: scene.relay._lingering)
    scene.advance(11)
    eventually(lambda: scene.counts.open == 0)
    assert [(pair.upstream, pair.own) for pair in scene.judged] == [(answer(7), None)]


def test_a_half_that_ends_without_its_answer_to_a_client_that_left_is_counted(scene: Scene) -> None:
    client, up, own = scene.connected()
    passed(client, up)
    left(client, up)
    own.close()
    eventually(lambda: (scene.counts.left, scene.counts.open) == (1, 0))
    assert not scene.judged


def test_a_request_whose_client_left_before_the_upstream_s_answer_is_counted(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7))
    own.send(answer(7))
    client.reset()
    eventually(lambda: (scene.counts.left, scene.counts.open) == (1, 0))
    assert not scene.judged


def test_only_so_many_connections_stay_without_their_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "LINGERING_MAX", 0)
    scene = Scene()
    client, up, _ = scene.connected()
    passed(client, up)
    left(client, up)
    eventually(lambda: (scene.counts.left, scene.counts.open) == (1, 0))
    scene.close()


def test_the_end_waits_for_answers_that_are_due(scene: Scene) -> None:
    client, up, own = scene.connected()
    passed(client, up)
    eventually(lambda: scene.call(scene.relay.pairing.waits_since, float("inf")))
    waiting = scene.start(scene.relay.wait_for_answers(WITHIN_S))
    own.send(answer(7))
    waiting.result(WITHIN_S)
    assert scene.counts.equal == 2
