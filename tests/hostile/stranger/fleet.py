"""Honest brokers and an operator that do whatever the journal records, so that a lost record shows after a restart."""

from __future__ import annotations

from collections.abc import Callable

from interop.harness import codes
from interop.harness.payloads import data_version, dumps
from interop.harness.wire import Answer, Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import configs, heartbeat, registered, unregister

GROUPS = 5
TOPICS = ("T", "U", "V")


class Fleet:
    """Groups of a master and a slave. `change` goes on with the next group; each time it leaves another state."""

    def __init__(self, make_names: Callable[[], Names]) -> None:
        self._groups = [make_names() for _ in range(GROUPS)]
        self._round = 0

    def change(self, client: Client) -> None:
        """Everything that a record tells, for one group. AssertionError for an answer that is not a success."""
        self._round += 1
        names, number = self._groups[self._round % GROUPS], self._round // GROUPS
        mapping = {"T": {"topic": names.topic("T"), "bname": names.broker, "scope": "__global__", "epoch": number,
                         "totalQueues": 8, "currIdMap": {"0": number % 8}}}  # fmt: skip
        registered(client, names, configs(names, TOPICS, read=1 + number % 16), version=data_version(number),
                   filters=[f"127.0.0.61:{number % 9 + 1}"] if number % 2 else [],
                   mapping=mapping if number % 3 else None, heartbeatTimeoutMillis=100_000 + number % 50,
                   enableActingMaster="true" if number % 4 else "false")  # fmt: skip
        registered(client, names, ("T", "U"), host=2, broker_id=1, version=data_version(number))
        expect(client.request(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": names.topic("W")}, _queues(names, number)))
        expect(heartbeat(client, names))
        self._operate(client, names, number)

    def _operate(self, client: Client, names: Names, number: int) -> None:
        for code, every in ((codes.WIPE_WRITE_PERM_OF_BROKER, 2), (codes.ADD_WRITE_PERM_OF_BROKER, 4)):
            if number % every == every - 1:
                expect(client.request(code, {"brokerName": names.broker}))
        if number % 3 == 2:
            expect(client.request(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": names.topic("V")}))
        if number % 5 == 4:
            expect(unregister(client, names, 2, 1))


def expect(answer: Answer) -> None:
    assert answer.code == codes.SUCCESS, f"answered with code {answer.code}: {answer.remark}"


def _queues(names: Names, number: int) -> bytes:
    queue = {"brokerName": names.broker, "perm": 6, "readQueueNums": 1 + number % 7, "writeQueueNums": 8}
    return dumps({"queueDatas": [queue]})
