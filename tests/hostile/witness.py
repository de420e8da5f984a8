"""A well-behaved peer that uses the server all the time, and what strangers may not leave open."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.behaviour.calls import get_kv, put_kv, route_body
from tests.behaviour.conftest import Names
from tests.behaviour.steps import query_version, registered

MB = 1 << 20
PAUSE_S = 0.002
ROUNDS_MIN = 20


class Witness:
    """Used as a context manager. A broker and a client in one, on one connection, in a thread of its own.

    On leaving, at least ``rounds_min`` rounds of requests must have been answered, all of them right.
    """

    def __init__(self, server: NameServer, rounds_min: int = ROUNDS_MIN) -> None:
        self.names = Names()
        self.rounds, self._rounds_min = 0, rounds_min
        self._client = Client(server.port, timeout_s=60)
        self._failure: BaseException | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Witness:
        registered(self._client, self.names)
        put_kv(self._client, self.names.cluster, "k", "v")
        self._route = route_body(self._client, self.names.topic("T"))
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        while error is None and self.rounds < self._rounds_min and self._thread.is_alive():
            self._is_over.wait(PAUSE_S)
        self._is_over.set()
        self._thread.join()
        self._client.close()
        if error is None and self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                self._round()
                self.rounds += 1
                self._is_over.wait(PAUSE_S)
        except BaseException as failure:
            self._failure = failure

    def _round(self) -> None:
        client, names = self._client, self.names
        assert route_body(client, names.topic("T")) == self._route
        assert get_kv(client, names.cluster, "k").ext == {"value": "v"}
        assert query_version(client, names, data_version()).ext == {"changed": "false"}
        assert client.request(9999).code == codes.REQUEST_CODE_NOT_SUPPORTED


def open_files(server: NameServer) -> int:
    return len(list((Path("/proc") / str(server.pid) / "fd").iterdir()))


@contextmanager
def leaves_nothing(server: NameServer) -> Iterator[None]:
    """Check that the block leaves no file descriptor open."""
    before = open_files(server)
    yield
    eventually(lambda: open_files(server) <= before)
