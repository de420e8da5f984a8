"""mqadmin with keys and without: each class of requests that it sends, enforced and observed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from interop.access.guarded import CLIENTS, NAMESPACE, OPERATORS, TOPIC, Guarded, Way, give_keys, signs_as
from interop.harness.rocketmq.admin import Admin
from interop.harness.rocketmq.brokers import CLUSTER
from interop.harness.sending.fleet import Fleet
from interop.harness.wire import eventually

REFUSED = "CODE: 16 "


@dataclass(frozen=True)
class Command:
    """``access``: the class of what it asks first. ``prints``: what it prints when it is answered."""

    access: str
    words: tuple[str, ...]
    prints: str


COMMANDS = (
    Command("lookup", ("topicRoute", "-t", TOPIC, "-l"), f"{CLUSTER} +broker-a "),
    Command("read", ("topicList",), f"(?m)^{TOPIC}$"),
    Command("read", ("clusterList",), f"{CLUSTER} +broker-a "),
    Command("config", ("getNamesrvConfig",), "bindAddress"),
    Command("admin", ("updateNamesrvConfig", "-k", "enableTopicList", "-v", "true"), "update name server config succ"),
    Command("admin", ("updateKvConfig", "-s", NAMESPACE, "-k", "colour", "-v", "green"), "create or update kv config"),
    Command("admin", ("addWritePerm", "-b", "broker-a"), r"add write perm of broker\[broker-a\].* OK"),
)


@pytest.fixture(scope="module")
def operator(guarded: Guarded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admin]:
    """mqadmin with keys."""
    with Fleet(type(guarded.server), tmp_path_factory.mktemp("operator")) as fleet:
        yield give_keys(fleet.admin(guarded.server))


def test_operator_who_signs_is_answered(operator: Admin) -> None:
    for command in COMMANDS:
        operator.run(*command.words).prints(command.prints)


def test_operator_without_keys_is_refused(way: Way, fleet: Fleet) -> None:
    admin = fleet.admin(way.relay)
    for command in COMMANDS:
        admin.run(*command.words).says(REFUSED)
    eventually(lambda: way.told("refused") == [command.access for command in COMMANDS])


def test_operator_without_keys_is_answered_where_all_is_observed(guarded: Guarded, way: Way, fleet: Fleet) -> None:
    admin = fleet.admin(way.relay)
    with guarded.observed():
        for command in COMMANDS:
            admin.run(*command.words).prints(command.prints)
        eventually(lambda: way.told("would refuse") == [command.access for command in COMMANDS])


def test_operator_with_keys_and_from_another_network_is_refused(way: Way, fleet: Fleet) -> None:
    give_keys(fleet.admin(way.relay)).run("addWritePerm", "-b", "broker-a").says(REFUSED)
    way.was_refused("admin", "key_alone")


def test_operator_uses_only_the_namespaces_of_the_policy(operator: Admin) -> None:
    operator.run("updateOrderConf", "-t", "Ordered", "-m", "put", "-v", "broker-a:7").prints("update orderConf success")
    operator.run("updateOrderConf", "-t", "Ordered", "-m", "get").prints(r"orderConf=\[broker-a:7\]")
    other = operator.run("updateKvConfig", "-s", "elsewhere", "-k", "colour", "-v", "green")
    other.fails_with(f"{REFUSED}.*operators may not use this namespace")


def test_topics_of_a_cluster_are_listed_for_an_operator(guarded: Guarded, fleet: Fleet) -> None:
    """The class scan."""
    asking = fleet.client("TopicsOfCluster", [guarded.server], CLUSTER, options=signs_as(OPERATORS))
    asking.wait_for("DONE")
    assert TOPIC in asking.values("TOPIC")


def test_topics_of_a_cluster_are_not_listed_for_a_client(way: Way, fleet: Fleet) -> None:
    asking = fleet.client("TopicsOfCluster", [way.relay], CLUSTER, options=signs_as(CLIENTS))
    asking.wait_for("DONE")
    assert REFUSED in asking.values("FAILED")[0]
    way.was_refused("scan", "not_granted")


def test_topics_of_a_cluster_are_listed_for_all_where_all_is_observed(guarded: Guarded, way: Way, fleet: Fleet) -> None:
    with guarded.observed():
        asking = fleet.client("TopicsOfCluster", [way.relay], CLUSTER)
        asking.wait_for("DONE")
        assert TOPIC in asking.values("TOPIC")
        way.would_be_refused("scan")
