"""Control changes a route of many brokers while reactors write it into answers: no answer mixes two states."""

from __future__ import annotations

import threading
from pathlib import Path

from interop.harness.wire import Client, eventually
from rocketns._fast.routes.routes import RouteSlots
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import BrokerData, queue_data
from tests.fast.clients import CLIENTS, look_up
from tests.fast.reactor.test_moving import balancer_of, reactors_of, settle
from tests.support.live import LiveServer

BROKERS, MOVING = 300, "b150"
ASKED_AT_ONCE, ASKED = 20, 1_500
NAME = b'"brokerName"'
WITH_AND_WITHOUT = {2 * BROKERS, 2 * BROKERS - 2}


def fill(slots: RouteSlots) -> None:
    for number in range(BROKERS):
        name = f"b{number}"
        group = BrokerData("C1", name, {0: f"10.0.0.1:{number + 1}"})
        data = bodies.broker_data(group, standard=False)
        slots.put_broker(name, data, data, False)
        slots.put_topics(name, [("wide", None, queue_data(8, 8, 6, 0))])


def come_and_go(server: LiveServer, slots: RouteSlots, is_over: threading.Event) -> None:
    """One broker of the many, again and again; reactors go on in between, as they do not wait for the next change."""
    while not is_over.is_set():
        server.call(lambda: slots.delete_topics(MOVING, ["wide"]))
        server.call(lambda: slots.put_topics(MOVING, [("wide", None, queue_data(8, 8, 6, 0))]))


def names_in_answers(client: Client) -> set[int]:
    """How many broker names an answer has: each is there once with its addresses and once with its queues."""
    found = set()
    for _ in range(ASKED // ASKED_AT_ONCE):
        client.send(look_up(CLIENTS[0], "wide") * ASKED_AT_ONCE)
        for _ in range(ASKED_AT_ONCE):
            found.add(client.receive_frame().count(NAME))
    return found


def sees_both(clients: list[Client], seen: set[int]) -> bool:
    """Ask again. Whether both states were seen so far."""
    seen.update(*map(names_in_answers, clients))
    return seen >= WITH_AND_WITHOUT


def test_no_answer_has_queues_of_a_broker_without_its_addresses(tmp_path: Path) -> None:
    """Over each of two reactors; both states are seen, so the change went on while they wrote."""
    with LiveServer(tmp_path) as server:
        slots, reactors, is_over = server.controller.core.publisher.slots, reactors_of(server), threading.Event()
        seen: set[int] = set()
        balancer_of(server).read_usage = lambda: None
        server.call(lambda: reactors.deal_to(2))
        server.call(lambda: fill(slots))
        clients = [server.connect() for _ in range(2)]
        for client in clients:
            client.send(look_up(CLIENTS[0], "wide"))
            client.receive_frame()
        settle(server)
        changing = threading.Thread(target=come_and_go, args=(server, slots, is_over))
        changing.start()
        try:
            eventually(lambda: sees_both(clients, seen))
        finally:
            is_over.set()
            changing.join()
            for client in clients:
                client.close()
        assert seen == WITH_AND_WITHOUT
