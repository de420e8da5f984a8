"""Brokers of three releases side by side in one cluster, classic Java clients of two, and ordered messages."""

from __future__ import annotations

from interop.harness import codes, views
from interop.harness.rocketmq.brokers import CLUSTER
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.rocketmq.maven import classpath
from interop.harness.sending.clients import IN_ORDER, assert_each_arrives_once
from interop.harness.sending.fleet import Fleet
from interop.harness.topics import QUEUES, stored

BETWEEN = "5.3.3"
VERSIONS = (OLD, BETWEEN, CURRENT)
MESSAGES = 150
ORDERED_QUEUES = 3


def build() -> None:
    classpath(BETWEEN)


def test_clients_of_two_releases_use_brokers_of_three(fleet: Fleet) -> None:
    """B109, B198, B199, B216: what one release sends the other receives, and each broker carries a part."""
    server = fleet.name_server()
    topics = {sender: f"From-{sender.replace('.', '-')}" for sender in (CURRENT, OLD)}
    brokers = [fleet.broker(f"broker-{v}", server, version=v, topics=topics.values()) for v in VERSIONS]
    expected = {broker.name: {0: broker.address} for broker in brokers}
    assert views.brokers(server) == expected

    for sender, receiver in ((CURRENT, OLD), (OLD, CURRENT)):
        topic = topics[sender]
        assert views.addresses(server, topic) == expected
        producer = fleet.producer([server], topic, MESSAGES, version=sender)
        producer.wait_for("DONE")
        consumer = fleet.consumer([server], topic, f"readers-{topic}", version=receiver)
        assert_each_arrives_once(producer, consumer, MESSAGES)
        carried = {broker.version: stored(broker.port, topic) for broker in brokers}
        assert sum(carried.values()) == MESSAGES
        assert all(carried.values()), carried

    command = fleet.admin(server).run("clusterList")
    for broker in brokers:
        printed = command.prints(rf"{CLUSTER} +{broker.name} .*\n")[0]
        version = "V" + broker.version.replace(".", "_")
        assert printed.split()[:5] == [CLUSTER, broker.name, "0", broker.address, version]


def test_ordered_messages_use_the_queues_of_the_order_configuration(fleet: Fleet) -> None:
    """B094, B203: the topic has four queues, the order configuration names three, and the producer keeps to those."""
    server = fleet.name_server({"orderMessageEnable": "true"})
    fleet.broker("broker-a", server, topics=["Ordered"])
    item = {"namespace": "ORDER_TOPIC_CONFIG", "key": "Ordered", "value": f"broker-a:{ORDERED_QUEUES}"}
    with server.connect() as client:
        assert client.request(codes.PUT_KV_CONFIG, item).code == codes.SUCCESS
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
