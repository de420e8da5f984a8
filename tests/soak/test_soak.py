"""Reactors, control and every kind of peer at once: every answer shows a state that existed.

ROCKETNS_SOAK_S is how long the longest test lasts, in seconds.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually, frame, json_header
from tests.fast.clients import CLIENTS, look_up
from tests.soak.actors import Auditor, Broker, Mover, Passer, Reader, Visitor, at_once
from tests.soak.live import LiveServer

SOAK_S = float(os.environ.get("ROCKETNS_SOAK_S", "6"))
ROUNDS = 2
TOPICS = [f"soak{number}" for number in range(8)]
STEADY, VISITED, DELETED = TOPICS[:5], TOPICS[3:], TOPICS[5:]
READERS = 4


def counting(journal: Path) -> dict[str, object]:
    """Properties with which lookups are counted, by client too; the interval ends when the test takes them."""
    return {"journalPath": journal, "journalLookupClients": "true", "journalLookupSeconds": 86_400}


@pytest.mark.timeout(SOAK_S * 4 + 120)
def test_every_answer_is_true_while_everything_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Brokers read what they wrote, over every reactor; no answer is torn or goes back; each is
    counted once; connections move between reactors all the time; servers stop and start."""
    total = 0
    for number in range(ROUNDS):
        with LiveServer(tmp_path / str(number), **counting(tmp_path / f"journal{number}")) as server:
            brokers = [Broker(server, host, STEADY, READERS) for host in (1, 2)]
            for broker in brokers:
                broker.act()
            steady = {broker.name for broker in brokers}
            readers = [Reader(server, TOPICS, steady, seed) for seed in (1, 2)]
            visitors = [Visitor(server, host, VISITED, DELETED) for host in (11, 12)]
            passers = [Passer(server, STEADY, seed) for seed in (1, 2)]
            auditor = Auditor(server)
            actors = [*brokers, *readers, *visitors, *passers, Mover(server, number), auditor]
            counts, faults = at_once([one.act for one in actors], SOAK_S / ROUNDS)
            if faults:
                raise faults[0]
            eventually(auditor.has_all)
            answered = server.answered_by_reactors()
        assert answered > sum(reader.answers for reader in readers) / 2
        total += answered
        with capsys.disabled():
            print(f"\nsoak round {number + 1}: {answered} lookups answered by reactors; {dict(counts)}", end="")
    assert total


def connected(server: LiveServer) -> list[Client]:
    """Connections that a reactor has read from."""
    clients = [server.connect() for _ in range(READERS)]
    for client in clients:
        client.send(look_up(CLIENTS[0], "T"))
        client.receive_frame()
    return clients


def test_lookups_are_answered_while_control_does_nothing(tmp_path: Path) -> None:
    """Over old and new connections, for present and absent topics. Requests for control are answered afterwards."""
    with LiveServer(tmp_path) as server, server.connect() as broker:
        body = register_body([topic_config("T"), topic_config("U")])
        broker.request(103, register_ext(body=body), body)
        expected = {topic: server.reference(look_up(CLIENTS[0], topic)) for topic in ("T", "nobody's")}
        clients = connected(server)
        with server.held_still():
            broker.send(frame(json_header(206, opaque=1)))
            for client in [*clients, server.connect(), server.connect()]:
                for topic in 10 * ["T", "nobody's"]:
                    client.send(look_up(CLIENTS[0], topic))
                    assert client.receive_frame() == expected[topic]
            assert broker.stays_silent()
        assert broker.receive().opaque == 1


@pytest.mark.flaky(reruns=2)  # the number of lookups meanwhile depends on the scheduling of the cores
def test_lookups_go_on_through_large_registrations(tmp_path: Path) -> None:
    """Lookups during a registration of 10,000 topics do not wait for its end."""
    with LiveServer(tmp_path) as server, server.connect() as broker, server.connect() as client:
        broker.request(103, register_ext(body=(one := register_body([topic_config("T"), topic_config("U")]))), one)
        client.send(look_up(CLIENTS[0], "T"))
        client.receive_frame()
        bodies = [
            register_body([topic_config(f"many{number}", queues) for number in range(10_000)], data_version(queues))
            for queues in (2, 3)
        ]
        meanwhile = 0
        for body in bodies:
            ext = register_ext(broker="large", addr="10.0.0.9:1", body=body)
            broker.post(103, ext, body)
            broker.socket.setblocking(False)
            while not has_answer(broker):
                client.send(look_up(CLIENTS[0], "T"))
                client.receive_frame()
                meanwhile += 1
            broker.socket.settimeout(60)
            assert broker.receive().code == 0
        assert meanwhile > 2 * len(bodies)


def has_answer(client: Client) -> bool:
    """Whether bytes have come."""
    try:
        return bool(client.socket.recv(1, 2))  # MSG_PEEK
    except BlockingIOError:
        return False
