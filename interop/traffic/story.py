"""What the clients do while they are recorded: brokers come and go, clients send and receive, mqadmin manages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing

from interop.access.guarded import SIGNING_PROGRAM
from interop.harness import views
from interop.harness.rocketmq.brokers import CLUSTER, Broker
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.rocketmq.proxy import Proxy
from interop.harness.sending.clients import JavaClient
from interop.harness.sending.fleet import Fleet, name_server_list
from interop.harness.sending.programs import Program
from interop.harness.servers import NameServer
from interop.harness.topics import create_group
from interop.harness.wire import eventually
from interop.messages.test_clients_acting_master import MASTER, SLAVE
from interop.messages.test_clients_grpc import JAVA as GRPC
from interop.messages.test_clients_grpc import MEMORY, POPPABLE
from interop.messages.test_clients_languages import PROGRAMS
from interop.messages.test_clients_versions import BETWEEN
from interop.operating.test_mqadmin import DELETES_TOPICS
from interop.traffic.relay import Listener
from rocketns.shadow.pairs import Pair

MESSAGES = 4
JAVA_VERSIONS = (OLD, CURRENT)
TOPICS = {version: f"From-java-{version.replace('.', '-')}" for version in JAVA_VERSIONS}
ADMIN = "mqadmin-5.5.0"


class Recorded:
    """The name server ``server`` with a way of its own to it for each client."""

    def __init__(self, fleet: Fleet, server: NameServer, tell: Callable[[str], None] = print) -> None:
        self.heard: list[Pair] = []
        self._fleet, self._server, self._tell = fleet, server, tell

    def way(self, label: str) -> Listener:
        self._tell(label)
        return self._fleet.enter_context(closing(Listener(label, self._server.port, self.heard)))

    def play(self) -> None:
        """Everything, one after the other."""
        broker = self._broker("broker-5.5.0", CURRENT, "broker-a", properties=DELETES_TOPICS | POPPABLE, options=MEMORY)
        self._brokers_come_and_go()
        for version in JAVA_VERSIONS:
            self._java(version)
        for program in PROGRAMS:
            self._program(program, broker)
        self._through_a_proxy(broker)
        self._manage(broker)
        broker.stop()

    def _broker(self, label: str, version: str, name: str, **more: object) -> Broker:
        topics = [*TOPICS.values(), *(program.topic for program in (*PROGRAMS, GRPC))]
        way = self.way(label)
        broker = self._fleet.unregistered(name, [way], version=version, topics=topics, **more)
        eventually(lambda: name in views.brokers(self._server), broker.registered_within_s, every_s=0.2)
        return broker

    def _brokers_come_and_go(self) -> None:
        """Of three releases, and a pair whose slave may act for its master."""
        for version in (OLD, BETWEEN):
            self._broker(f"broker-{version}", version, f"broker-{version.replace('.', '-')}").stop()
        master = self._broker("master-5.5.0", CURRENT, "broker-m", properties=MASTER)
        slave = self._broker("slave-5.5.0", CURRENT, "broker-m", properties=SLAVE)
        both = {0: master.address, 1: slave.address}
        eventually(lambda: views.brokers(self._server)["broker-m"] == both, slave.registered_within_s)
        slave.stop()
        master.stop()

    def _java(self, version: str) -> None:
        way = self.way(f"java-{version}")
        topic = TOPICS[version]
        producer = self._fleet.producer([way], topic, MESSAGES, version=version)
        consumer = self._fleet.consumer([way], topic, f"readers-{topic}", version=version)
        self._received(producer, consumer)

    def _program(self, program: Program, broker: Broker) -> None:
        """With keys: the recording has to leave them out."""
        self._flow(program, broker, name_server_list(self.way(program.folder)), SIGNING_PROGRAM)

    def _through_a_proxy(self, broker: Broker) -> None:
        servers = name_server_list(self.way("proxy-5.5.0"))
        proxy = self._fleet.kills(Proxy(self._fleet.folder("proxy"), servers))
        self._flow(GRPC, broker, proxy.address, {})
        proxy.kill()

    def _flow(self, program: Program, broker: Broker, servers: str, env: Mapping[str, str]) -> None:
        group = f"readers-{program.folder}"
        create_group(broker.port, group, program.topic)
        consumer = program.start("consume", servers, program.topic, group, self._fleet, env)
        producer = program.start("produce", servers, program.topic, MESSAGES, self._fleet, env)
        self._received(producer, consumer)

    def _received(self, producer: JavaClient, consumer: JavaClient) -> None:
        producer.wait_for("DONE")
        consumer.wait_for("GOT", MESSAGES)
        consumer.stop()
        producer.stop()

    def _manage(self, broker: Broker) -> None:
        way = self.way(ADMIN)
        admin = self._fleet.admin(way)
        topic = TOPICS[CURRENT]
        for words, printed in (
            (("updateTopic", "-c", CLUSTER, "-t", "Ordered", "-r", "4", "-w", "4", "-o", "true"), "create topic to"),
            (("topicList",), topic),
            (("topicList", "-c"), topic),
            (("topicRoute", "-t", topic), "brokerAddrs"),
            (("clusterList",), broker.name),
            (("updateKvConfig", "-s", "interop", "-k", "colour", "-v", "grün = 1"), "success"),
            (("deleteKvConfig", "-s", "interop", "-k", "colour"), "success"),
            (("updateOrderConf", "-t", "Ordered", "-m", "put", "-v", f"{broker.name}:7"), "success"),
            (("updateOrderConf", "-t", "Ordered", "-m", "get"), "success"),
            (("updateOrderConf", "-t", "Ordered", "-m", "delete"), "success"),
            (("wipeWritePerm", "-b", broker.name), "OK"),
            (("addWritePerm", "-b", broker.name), "OK"),
            (("getNamesrvConfig",), "listenPort"),
            (("updateNamesrvConfig", "-k", "orderMessageEnable", "-v", "true"), "success"),
            (("deleteTopic", "-c", CLUSTER, "-t", "Ordered"), "from NameServer success"),
        ):
            admin.run(*words).prints(printed)
        self._fleet.client("TopicsOfCluster", [way], CLUSTER).process.wait()
        admin.run("topicRoute", "-t", "nowhere").fails_with("CODE: 17")
        admin.run("updateNamesrvConfig", "-k", "kvConfigPath", "-v", "elsewhere").fails_with("CODE: 16")
