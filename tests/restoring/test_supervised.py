"""With a journal and a supervisor that keeps the listening socket, clients see a restart only as a pause."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.supervisor import Supervisor
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.journal.patient import PatientServer

RESTARTS = 2
ENDED = "connection ended"


class NewClients:
    """A client that starts every few milliseconds, looks a topic up, and ends. ``seen`` counts the outcomes."""

    def __init__(self, port: int, topic: str) -> None:
        self.seen: Counter[object] = Counter()
        self._port, self._topic = port, topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.005):
            self.seen[self._look_up()] += 1

    def _look_up(self) -> object:
        try:
            with Client(self._port) as client:
                return client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": self._topic}).code
        except ConnectionRefusedError:
            return "refused"
        except ConnectionError:  # the server ended while it had the connection
            return ENDED

    def stop(self) -> Counter[object]:
        self._stop.set()
        self._thread.join()
        return self.seen


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_clients_see_no_restart(tmp_path: Path, names: Names, number: signal.Signals) -> None:
    """Every lookup is answered with the route, though the broker does not come back."""
    properties = {"journalPath": tmp_path / "j", "journalNs": "n1", "rocketns.askUnconfirmed": "false"}
    with Supervisor(str(tmp_path / "notify")) as supervisor:
        server = PatientServer(tmp_path / "ns", properties, supervisor=supervisor)
        clients = None
        try:
            with server.connect() as broker:
                registered(broker, names)
                clients = NewClients(supervisor.port, names.topic())
                for _ in range(RESTARTS):
                    answered = clients.seen[codes.SUCCESS]
                    eventually(lambda enough=answered + 5: clients.seen[codes.SUCCESS] >= enough)
                    server.process.signal(number)
                    server.process.wait()
                    server.start()
        finally:
            seen = clients.stop() if clients is not None else Counter()
            server.kill()
    assert seen.keys() <= {codes.SUCCESS, ENDED}, seen
    assert seen[codes.SUCCESS] > 5 * RESTARTS
    assert seen[ENDED] <= 2 * RESTARTS
