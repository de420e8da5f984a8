"""mqadmin's commands against the name server: what each prints, and what the name server shows afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from interop.harness import views
from interop.harness.process import ProcessFailed
from interop.harness.rocketmq.admin import Admin
from interop.harness.rocketmq.brokers import CLUSTER, Broker
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from interop.harness.topics import create_topic
from interop.harness.wire import eventually

BROKER = "broker-a"
TOPIC = "Managed"
# Without its timer wheel a 5.5.0 broker fails to delete any topic.
DELETES_TOPICS = {"timerWheelEnable": "true"}
ORDER = "ORDER_TOPIC_CONFIG"


@dataclass(frozen=True)
class Managed:
    """A name server, its broker, and mqadmin against it."""

    server: NameServer
    broker: Broker
    admin: Admin


@pytest.fixture(scope="module")
def managed(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Managed]:
    """One broker for all commands."""
    with Fleet(server_class, tmp_path_factory.mktemp("mqadmin")) as fleet:
        server = fleet.name_server()
        yield Managed(server, fleet.broker(BROKER, server, properties=DELETES_TOPICS), fleet.admin(server))


@pytest.fixture
def topic(managed: Managed, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, visible in the name server."""
    name = f"{TOPIC}-{request.node.originalname.removeprefix('test_')}"
    create_topic(managed.broker.port, name, read=3, write=5)
    eventually(lambda: views.addresses(managed.server, name))
    return name


def test_update_topic_makes_an_ordered_topic(managed: Managed) -> None:
    """B094, B111: the broker announces the topic, the tool writes its order configuration into the name server."""
    command = managed.admin.run("updateTopic", "-c", CLUSTER, "-t", TOPIC, "-r", "4", "-w", "4", "-o", "true")
    command.prints(rf"set cluster orderConf\. isOrder=true, orderConf=\[{BROKER}:4\]")
    command.prints(f"create topic to {managed.broker.address} success")
    assert views.kv(managed.server, ORDER, TOPIC) == f"{BROKER}:4"
    eventually(lambda: views.addresses(managed.server, TOPIC) == {BROKER: {0: managed.broker.address}})


def test_topic_route_prints_broker_queues_and_permission(managed: Managed, topic: str) -> None:
    """B198, B201."""
    printed = managed.admin.run("topicRoute", "-t", topic, "-l").prints(rf"{CLUSTER} .*\n")[0]
    assert printed.split() == [CLUSTER, BROKER, f"{{0={managed.broker.address}}}", "3", "5", "6"]


def test_topic_route_of_an_unknown_topic_prints_code_17(managed: Managed) -> None:
    """B197."""
    managed.admin.run("topicRoute", "-t", "nowhere").fails_with(
        r"CODE: 17  DESC: No topic route info in name server for the topic: nowhere\n"
        r"See https://rocketmq\.apache\.org/docs/bestPractice/06FAQ for further details\."
    )


def test_topic_list_prints_every_topic(managed: Managed, topic: str) -> None:
    """B221."""
    command = managed.admin.run("topicList")
    command.prints(rf"(?m)^{topic}$")
    assert set(views.routes(managed.server)) <= set(command.text.split())


def test_cluster_list_prints_the_broker(managed: Managed) -> None:
    """B216: the tool asks the name server for the brokers, then each broker for its state."""
    printed = managed.admin.run("clusterList").prints(rf"{CLUSTER} .*\n")[0]
    assert printed.split()[:5] == [CLUSTER, BROKER, "0", managed.broker.address, "V5_5_0"]


def test_kv_config_is_updated_and_deleted(managed: Managed) -> None:
    """B094, B101."""
    managed.admin.run("updateKvConfig", "-s", "interop", "-k", "colour", "-v", "grün = 1").prints(
        "create or update kv config to namespace success"
    )
    assert views.kv(managed.server, "interop", "colour") == "grün = 1"
    managed.admin.run("deleteKvConfig", "-s", "interop", "-k", "colour").prints(
        "delete kv config from namespace success"
    )
    assert views.kv(managed.server, "interop", "colour") is None


def test_order_conf_is_put_read_and_deleted(managed: Managed) -> None:
    """B098, B099, B101."""
    name = "Ordered"
    managed.admin.run("updateOrderConf", "-t", name, "-m", "put", "-v", f"{BROKER}:7").prints(
        rf"update orderConf success\. topic=\[{name}\], orderConf=\[{BROKER}:7\]"
    )
    managed.admin.run("updateOrderConf", "-t", name, "-m", "get").prints(
        rf"get orderConf success\. topic=\[{name}\], orderConf=\[{BROKER}:7\]"
    )
    managed.admin.run("updateOrderConf", "-t", name, "-m", "delete").prints(
        rf"delete orderConf success\. topic=\[{name}\]"
    )
    assert views.kv(managed.server, ORDER, name) is None
    managed.admin.run("updateOrderConf", "-t", name, "-m", "get").fails_with(
        rf"CODE: 22  DESC: No config item, Namespace: {ORDER} Key: {name}"
    )


def test_write_permission_is_wiped_and_added(managed: Managed, topic: str) -> None:
    """B219, B220: the tool prints how many topics were touched."""
    touched = len(views.routes(managed.server))
    where = rf"of broker\[{BROKER}\] in name server\[127\.0\.0\.1:{managed.server.port}\] OK, {touched}\b"
    managed.admin.run("wipeWritePerm", "-b", BROKER).prints(f"wipe write perm {where}")
    assert views.perms(managed.server, topic) == {BROKER: 4}
    managed.admin.run("addWritePerm", "-b", BROKER).prints(f"add write perm {where}")
    assert views.perms(managed.server, topic) == {BROKER: 6}


def test_namesrv_config_is_read_and_updated(managed: Managed) -> None:
    """B234, B235."""
    before = views.configuration(managed.server)
    managed.admin.run("updateNamesrvConfig", "-k", "orderMessageEnable", "-v", "true").prints(
        r"update name server config success![^\n]*\norderMessageEnable : true"
    )
    command = managed.admin.run("getNamesrvConfig")
    command.prints(rf"=+127\.0\.0\.1:{managed.server.port}=+\n")
    lines = re.findall(r"^(\S+) +=  (.*)$", command.text, re.MULTILINE)
    assert dict(lines) == before | {"orderMessageEnable": "true"}


def test_namesrv_config_in_the_black_list_is_refused(managed: Managed) -> None:
    """B238."""
    managed.admin.run("updateNamesrvConfig", "-k", "kvConfigPath", "-v", "/elsewhere").fails_with(
        r"CODE: 16  DESC: Can not update config in black list\."
    )


def test_deleted_topic_is_gone(managed: Managed, topic: str) -> None:
    """B223."""
    managed.admin.run("deleteTopic", "-c", CLUSTER, "-t", topic).prints(
        rf"delete topic \[{topic}\] from NameServer success"
    )
    assert views.addresses(managed.server, topic) == {}


def test_missing_option_is_status_1(managed: Managed, fleet: Fleet) -> None:
    """The one failure that mqadmin's exit status shows; no name server is asked."""
    with pytest.raises(ProcessFailed, match="Missing required option: b") as failed:
        fleet.admin(managed.server).run("wipeWritePerm")
    assert failed.value.status == 1
