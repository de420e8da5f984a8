"""How many route lookups of real clients the reactors answer: all but one in a hundred."""

from __future__ import annotations

import re

import pytest

from interop.harness.sending.clients import JavaClient
from interop.harness.sending.fleet import Fleet, name_server_list
from interop.harness.servers import NameServer
from interop.messages.test_clients_languages import GO

SHARE_MIN = 0.99
LOOKUPS_MIN = 200
TOPICS = [f"Steady-{n}" for n in range(300)]
COUNTED = re.compile(r"route lookups: (\d+) answered by reactors, (\d+) handed over")


@pytest.mark.needs("go")
def test_reactors_answer_java_and_go_clients(fleet: Fleet) -> None:
    """B198: producers that send to many topics, and push consumers."""
    server = fleet.name_server()
    fleet.broker("broker-a", server, topics=TOPICS)
    where = name_server_list(server)
    consumers = [fleet.consumer([server], TOPICS[0], "readers"), GO.start("consume", where, TOPICS[0], "go", fleet)]
    assert_sent(fleet.producer([server], "Steady-*", len(TOPICS)))
    assert_sent(GO.start("produce", where, "Steady-*", len(TOPICS), fleet))
    for consumer in consumers:
        consumer.wait_for("GOT")
    assert_answered_by_reactors(server)


def assert_sent(producer: JavaClient) -> None:
    producer.wait_for("DONE", within_s=180)
    assert len(producer.values("SENT")) == len(TOPICS), producer.process.text()[-4000:]


def assert_answered_by_reactors(server: NameServer) -> None:
    """The server's counts when it stops."""
    assert server.stop() == 0
    counted = COUNTED.search(server.process.text())
    assert counted, server.process.text()[-4000:]
    answered, handed_over = map(int, counted.groups())
    assert answered + handed_over >= LOOKUPS_MIN
    assert answered / (answered + handed_over) >= SHARE_MIN, f"{handed_over} of {answered + handed_over} handed over"
