"""Honest brokers and an operator that do whatever the journal records, so that a lost record shows after a restart."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from functools import partial

from interop.harness import codes
from interop.harness.payloads import data_version, dumps
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import configs, heartbeat, register, unregister

# Each of the four phases is that of two groups, whenever the strangers end.
GROUPS = 8
TOPICS = ("T", "U", "V")
# Of a configuration file; None: it is absent.
DAMAGES = (b"\xff\0\n=\n\\u12", b"rocketns.progressSeconds=x\nlistenPort=70000\n", None, b"x=" + b"y" * (1 << 20))


class TablesFull(Exception):
    """Strangers took all room that there is for new routes: a stated limit, which says so."""


class Fleet:
    """Groups of a master and a slave. `change` goes on with the next group; each time it leaves another state.

    Acting master, filter servers and timeout of a group change one at a time, so that each has a record of its own.
    """

    def __init__(self, make_names: Callable[[], Names]) -> None:
        self._groups = [make_names() for _ in range(GROUPS)]
        self._round = 0

    def change(self, client: Client) -> Iterator[Callable[[], Answer]]:
        """Requests that tell everything that is recorded, for one group."""
        self._round += 1
        number, group = divmod(self._round, GROUPS)
        names, number = self._groups[group], number + group
        acting, filters, timeout_s = (((number + phase) // 4) % 2 for phase in (3, 2, 1))
        mapping = {"T": {"topic": names.topic("T"), "bname": names.broker, "scope": "__global__", "epoch": number,
                         "totalQueues": 8, "currIdMap": {"0": number % 8}}}  # fmt: skip
        again = partial(register, client, names, version=data_version(number),
                        enableActingMaster="true" if acting else "false")  # fmt: skip
        yield partial(again, configs(names, TOPICS, read=1 + number % 16), filters=["127.0.0.61:1"] if filters else [],
                      mapping=mapping if number % 3 else None,
                      heartbeatTimeoutMillis=100_000 + 1_000 * timeout_s)  # fmt: skip
        yield partial(again, ("T", "U"), host=2, broker_id=1)
        yield partial(client.request, codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": names.topic("W")},
                      _queues(names, number))  # fmt: skip
        yield partial(heartbeat, client, names)
        yield from self._operate(client, names, number)

    def _operate(self, client: Client, names: Names, number: int) -> Iterator[Callable[[], Answer]]:
        for code, every in ((codes.WIPE_WRITE_PERM_OF_BROKER, 2), (codes.ADD_WRITE_PERM_OF_BROKER, 4)):
            if number % every == every - 1:
                yield partial(client.request, code, {"brokerName": names.broker})
        if number % 3 == 2:
            yield partial(client.request, codes.DELETE_TOPIC_IN_NAMESRV, {"topic": names.topic("V")})
        if number % 5 == 4:
            yield partial(unregister, client, names, 2, 1)


class Operator:
    """Has the server read its configuration file again. Every second time the file is damaged or absent."""

    def __init__(self, server: NameServer) -> None:
        self._server, self._whole = server, server.config_path.read_bytes()
        self._round = 0

    def reload(self) -> None:
        """The next state of the file, and SIGHUP."""
        self._round += 1
        damaged = DAMAGES[self._round // 2 % len(DAMAGES)] if self._round % 2 else b""
        if damaged is None:
            self._server.config_path.unlink()
        else:
            self._server.config_path.write_bytes(damaged or self._whole)
        self._server.process.signal(signal.SIGHUP)

    def restore(self) -> None:
        """The file is whole again."""
        self._server.config_path.write_bytes(self._whole)


def expect(answer: Answer) -> None:
    """TablesFull, or AssertionError for any other answer that is not a success."""
    if "rocketns.routesMax" in (answer.remark or ""):
        raise TablesFull
    assert answer.code == codes.SUCCESS, f"answered with code {answer.code}: {answer.remark}"


def _queues(names: Names, number: int) -> bytes:
    queue = {"brokerName": names.broker, "perm": 6, "readQueueNums": 1 + number % 7, "writeQueueNums": 8}
    return dumps({"queueDatas": [queue]})
