"""The classic Java client beyond ordinary messages: ordered topics and transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from interop.harness import codes, views
from interop.harness.sending.clients import IN_ORDER
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from interop.harness.topics import QUEUES

ORDER_NAMESPACE = "ORDER_TOPIC_CONFIG"
ORDERED_QUEUES = 3
MESSAGES = 150
# The broker looks every second for transactions older than 3 s of which it has noted no end. It notes ends in batches:
# were they not noted before the check, it would ask about committed ones too and deliver them twice.
QUICK_CHECKS = {"transactionCheckInterval": 1000, "transactionTimeOut": 3000, "transactionOpBatchInterval": 200}


@pytest.fixture(scope="module")
def server(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """One name server and broker; each test has a topic of its own."""
    with Fleet(server_class, tmp_path_factory.mktemp("java")) as fleet:
        server = fleet.name_server({"orderMessageEnable": "true"})
        fleet.broker("broker-a", server, properties=QUICK_CHECKS, topics=["Ordered", "Decided"])
        yield server


def test_ordered_messages_use_the_queues_of_the_order_configuration(fleet: Fleet, server: NameServer) -> None:
    """B094, B203: the topic has four queues, the order configuration names three, and the producer keeps to those."""
    _set_order_configuration(server, "Ordered", f"broker-a:{ORDERED_QUEUES}")
    consumer = fleet.consumer([server], "Ordered", "readers", options=IN_ORDER)
    producer = fleet.producer([server], "Ordered", MESSAGES, main="OrderedProducer")

    producer.wait_for("DONE")
    assert producer.values("QUEUES") == [str(ORDERED_QUEUES)]
    assert producer.values("SENT") == [f"{n} SEND_OK" for n in range(MESSAGES)]
    consumer.wait_for("GOT", MESSAGES)
    consumer.stop()
    received = [tuple(map(int, value.split())) for value in consumer.values("GOT")]
    for queue in range(QUEUES):
        sent = list(range(queue, MESSAGES, ORDERED_QUEUES)) if queue < ORDERED_QUEUES else []
        assert [n for q, n in received if q == queue] == sent


def test_transactions_are_delivered_as_decided(fleet: Fleet, server: NameServer) -> None:
    """B111: half messages and their checks go through system topics that the broker registers by itself."""
    assert views.addresses(server, "RMQ_SYS_TRANS_HALF_TOPIC")
    consumer = fleet.consumer([server], "Decided", "readers")
    producer = fleet.producer([server], "Decided", MESSAGES, main="TransactionProducer")

    producer.wait_for("DONE")
    decided = ("COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW")
    assert [len(producer.values(word)) for word in decided] == [MESSAGES // 3] * 3
    delivered = Counter(producer.values("COMMIT_MESSAGE") + producer.values("UNKNOW"))
    consumer.wait_for("GOT", delivered.total(), within_s=180)
    consumer.stop()
    assert Counter(consumer.values("GOT")) == delivered
    assert set(producer.values("CHECKED")) == set(producer.values("UNKNOW"))


def _set_order_configuration(server: NameServer, topic: str, queues: str) -> None:
    """What ``mqadmin updateOrderConf -m put`` sends."""
    with server.connect() as client:
        answer = client.request(codes.PUT_KV_CONFIG, {"namespace": ORDER_NAMESPACE, "key": topic, "value": queues})
    assert answer.code == 0, answer.remark
