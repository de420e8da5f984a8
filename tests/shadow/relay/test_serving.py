"""With the switch on, the own answers go out, and nothing is lost, doubled or mixed on a connection."""

from __future__ import annotations

import contextlib

import pytest

from interop.harness.wire import eventually
from rocketns.shadow.switch import place_of
from tests.shadow.relay.scene import STUCK_BYTES_MAX, Peer, Scene, Server, answer, asked, request, sent_until_full

Connected = tuple[Peer, Peer, Peer]


@pytest.fixture
def served(scene: Scene) -> Connected:
    """A client and its connections at both servers, from now on served."""
    connected = scene.connected()
    scene.set(100)
    return connected


def test_the_own_answer_goes_out_and_the_upstream_s_is_compared(scene: Scene, served: Connected) -> None:
    client, up, own = served
    client.send(request(7))
    own.expect(request(7))
    up.send(answer(7, b"theirs"))
    own.send(answer(7, b"ours"))
    client.expect(answer(7, b"ours"))
    eventually(lambda: scene.judged)
    assert (scene.judged[0].upstream, scene.judged[0].own) == (answer(7, b"theirs"), answer(7, b"ours"))
    client.send(request(8))
    own.expect(request(8))
    own.send(answer(8))
    client.expect(answer(8))


def test_each_request_in_flight_is_answered_by_the_server_of_its_time(scene: Scene) -> None:
    client, up, own = scene.connected()
    client.send(request(7))
    eventually(lambda: scene.counts.requests == 2)
    scene.set(100)
    client.send(request(8))
    eventually(lambda: scene.counts.requests == 3)
    own.send(answer(7, b"own") + answer(8, b"own"))
    client.expect(answer(8, b"own"))
    up.send(answer(8, b"up") + answer(7, b"up"))
    client.expect(answer(7, b"up"))
    scene.set(0)
    client.send(request(9))
    eventually(lambda: scene.counts.requests == 4)
    own.send(answer(9, b"own"))
    up.send(answer(9, b"up"))
    client.expect(answer(9, b"up"))


def test_an_own_answer_waits_for_the_end_of_a_frame_that_is_being_passed(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7))
    large = answer(7, b"x" * 1000)
    up.send(large[:500])
    client.expect(large[:500])
    scene.set(100)
    asked(client, up, request(8))
    own.send(answer(8))
    eventually(lambda: scene.counts.served == 1)
    own.expect(request(7) + request(8))
    up.send(large[500:])
    client.expect(large[500:] + answer(8))


def test_answers_that_the_half_owes_when_it_ends_come_from_the_upstream(scene: Scene, served: Connected) -> None:
    client, up, own = served
    asked(client, up, request(7) + request(8))
    up.send(answer(7, b"7"))
    eventually(lambda: scene.counts.served == 2)
    own.expect(request(7) + request(8))
    own.send(answer(8, b"8")[:20])
    scene.half.port = None
    own.close()
    client.expect(answer(7, b"7"))
    up.send(answer(8, b"8"))
    client.expect(answer(8, b"8"))
    client.send(request(9))
    up.expect(request(9))
    up.send(answer(9))
    client.expect(answer(9))


def test_a_half_that_does_not_answer_is_not_waited_for_longer_than_a_second(scene: Scene, served: Connected) -> None:
    client, up, own = served
    asked(client, up, request(7))
    up.send(answer(7, b"theirs"))
    eventually(lambda: len(scene.relay.pairing._half) == 1)
    assert client.is_silent()
    scene.advance(1.1)
    client.expect(answer(7, b"theirs"))
    own.send(answer(7, b"late"))
    eventually(lambda: scene.judged)
    assert scene.judged[0].own == answer(7, b"late")
    asked(client, up, request(8))
    up.send(answer(8, b"theirs"))
    client.expect(answer(8, b"theirs"))


def test_a_client_stays_when_the_upstream_ends_and_its_requests_are_answered(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, own, request(7) + request(8))
    own.send(answer(7, b"own"))
    eventually(lambda: len(scene.relay.pairing._half) == 1)
    scene.set(100)
    scene.up.close()
    up.close()
    client.expect(answer(7, b"own"))
    own.send(answer(8, b"own"))
    client.expect(answer(8, b"own"))
    asked(client, own, request(9))
    own.send(answer(9)[:30])
    client.expect(answer(9)[:30])
    own.send(answer(9)[30:])
    client.expect(answer(9)[30:])


def test_a_new_client_is_served_without_an_upstream(scene: Scene) -> None:
    scene.up.close()
    scene.set(100)
    client = scene.connect()
    client.send(request(7))
    own = scene.own.accept()
    own.expect(request(7))
    own.send(answer(7))
    client.expect(answer(7))
    client.close()


def test_an_upstream_that_comes_back_gets_the_requests_again(scene: Scene, served: Connected) -> None:
    client, up, own = served
    port = scene.up.port
    scene.up.close()
    up.close()
    eventually(lambda: scene.counts.given_up == 1)
    scene.up = Server(port)
    scene.advance(2)
    client.send(request(7))
    again = scene.up.accept()
    again.expect(request(7))
    own.expect(request(7))
    again.send(answer(7, b"up"))
    own.send(answer(7, b"own"))
    client.expect(answer(7, b"own"))


def test_a_half_that_may_miss_brokers_does_not_serve(scene: Scene) -> None:
    client, up, own = scene.connected()
    scene.half.is_settled = False
    scene.set(100)
    asked(client, up, request(7))
    own.send(answer(7, b"own"))
    up.send(answer(7, b"up"))
    client.expect(answer(7, b"up"))


def test_a_percentage_serves_so_many_connections_and_the_same_ones_of_a_larger_one() -> None:
    places = [place_of(number) for number in range(1, 1001)]
    assert sum(place < 25 for place in places) == 250
    assert len(set(places)) == 100


def test_a_new_connection_is_served_from_its_first_request_on(scene: Scene) -> None:
    scene.set(100)
    client = scene.connect()
    client.send(request(7))
    own = scene.own.accept()
    own.expect(request(7))
    own.send(answer(7, b"own"))
    client.expect(answer(7, b"own"))
    up = scene.up.accept()
    up.expect(request(7))


def test_a_served_client_is_not_read_while_the_half_does_not_read(scene: Scene, served: Connected) -> None:
    client, up, _ = served
    assert sent_until_full(client, request(7, size=1_000_000)) < STUCK_BYTES_MAX
    scene.set(0)
    client.socket.setblocking(False)

    def goes_on() -> bool:
        assert up.socket.recv(1 << 20)
        with contextlib.suppress(BlockingIOError):
            return client.socket.send(b"\0" * 1000) > 0
        return False

    eventually(goes_on)


def test_a_stuck_upstream_does_not_hold_up_a_served_client(scene: Scene, served: Connected) -> None:
    client, _, own = served
    large = request(7, size=4 * 1024 * 1024)
    for number in range(16):
        client.send(large)
        own.expect(large)
        own.send(answer(7, b"%d" % number))
        client.expect(answer(7, b"%d" % number))
    assert scene.counts.given_up == 1
