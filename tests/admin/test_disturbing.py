"""A thousand scrapers hang while brokers register and clients look up. The test checks answers, not times."""

from __future__ import annotations

import threading
from contextlib import ExitStack

from interop.harness.wire import Client
from rocketns.admin import gate
from tests.admin.conftest import Managed
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register, registered
from tests.behaviour.views import ask_route

SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
ROUNDS = 300


def check_answers(client: Client, broker: Client, names: Names) -> None:
    """Each lookup and each registration gets the right answer."""
    for _ in range(ROUNDS):
        assert ask_route(client, names.topic("T")).code == 0
        assert ask_route(client, names.topic("none")).code == 17
        assert register(broker, names).code == 0


def test_a_thousand_scrapers_that_hang_disturb_no_answer(managed: Managed, names: Names) -> None:
    with ExitStack() as stack, managed.connect() as client, managed.connect() as broker:
        registered(broker, names)
        for number in range(1000):
            connection = stack.enter_context(managed.http.connect())
            connection.sendall(SCRAPE[: len(SCRAPE) - number % 3])  # two of three never complete their request
        check_answers(client, broker, names)
        assert managed.admin is not None
        assert managed.admin.gate.connections <= gate.CONNECTIONS_MAX
        assert managed.http.ask("/livez").status == 200


def test_scrapers_that_never_rest_disturb_no_answer(managed: Managed, names: Names) -> None:
    ends = threading.Event()
    statuses: list[int] = []

    def scrape() -> None:
        while not ends.is_set():
            statuses.append(managed.http.ask("/metrics").status)

    scrapers = [threading.Thread(target=scrape) for _ in range(8)]
    with managed.connect() as client, managed.connect() as broker:
        registered(broker, names)
        for one in scrapers:
            one.start()
        try:
            check_answers(client, broker, names)
        finally:
            ends.set()
            for one in scrapers:
                one.join(60)
    assert set(statuses) == {200}
