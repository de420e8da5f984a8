"""A well-behaved peer that uses the server all the time and notices every wrong, late or missing answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.calls import get_kv, put_kv, route_body
from tests.behaviour.conftest import Names
from tests.behaviour.steps import query_version, registered
from tests.hostile.watch import cpu_seconds

PAUSE_S = 0.002
ROUNDS_MIN = 20
# CPU seconds that the server may work between a request and its answer; a busy machine does not change them. Reactors
# have priority over control, so their work on a flood is included.
SLOWEST_CPU_S = 2.0


class Witness:
    """Used as a context manager. A broker and a client in one, on one connection, in a thread of its own.

    On leaving, at least ``rounds_min`` rounds of requests must have been answered, all of them right, and none after
    the server had worked longer than ``slowest_cpu_s`` on something else.
    """

    def __init__(self, server: NameServer, slowest_cpu_s: float = SLOWEST_CPU_S, rounds_min: int = ROUNDS_MIN) -> None:
        self.names = Names()
        self.rounds, self.slowest_seen_cpu_s = 0, 0.0
        self._server, self._slowest_cpu_s, self._rounds_min = server, slowest_cpu_s, rounds_min
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
        if error is None:
            self._judge()

    def _judge(self) -> None:
        if self._failure is not None:
            raise self._failure
        slowest = self.slowest_seen_cpu_s
        assert slowest <= self._slowest_cpu_s, f"an answer came after {slowest:.2f} s of work"

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
        assert self._timed(lambda: route_body(client, names.topic("T"))) == self._route
        assert self._timed(lambda: get_kv(client, names.cluster, "k").ext) == {"value": "v"}
        assert self._timed(lambda: query_version(client, names, data_version()).ext) == {"changed": "false"}
        assert self._timed(lambda: client.request(9999).code) == codes.REQUEST_CODE_NOT_SUPPORTED

    def _timed(self, ask: Callable[[], object]) -> object:
        before = cpu_seconds(self._server)
        answer = ask()
        self.slowest_seen_cpu_s = max(self.slowest_seen_cpu_s, cpu_seconds(self._server) - before)
        return answer
