"""mqadmin with keys and without: each class of requests that it sends, enforced and observed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from interop.access.guarded import TOPIC, Guarded, Way
from interop.access.policies import CLIENTS, NAMESPACE, OPERATORS, give_keys, signs_as
from interop.harness.rocketmq.brokers import CLUSTER
from interop.harness.sending.fleet import Fleet

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
EACH = pytest.mark.parametrize("command", COMMANDS, ids=[command.words[0] for command in COMMANDS])


@EACH
def test_operator_who_signs_is_answered(command: Command, guarded: Guarded, fleet: Fleet) -> None:
    give_keys(fleet.admin(guarded.server)).run(*command.words).prints(command.prints)


@EACH
def test_operator_without_keys_is_refused(command: Command, way: Way, fleet: Fleet) -> None:
    fleet.admin(way.relay).run(*command.words).process.wait_for(REFUSED)
    way.was_refused(command.access)


@EACH
def test_operator_without_keys_is_answered_where_all_is_observed(
    command: Command, guarded: Guarded, way: Way, fleet: Fleet
) -> None:
    with guarded.observed():
        fleet.admin(way.relay).run(*command.words).prints(command.prints)
        way.would_be_refused(command.access)


def test_operator_with_keys_and_from_another_network_is_refused(way: Way, fleet: Fleet) -> None:
    give_keys(fleet.admin(way.relay)).run("addWritePerm", "-b", "broker-a").process.wait_for(REFUSED)
    way.was_refused("admin", "key_alone")


def test_operator_uses_only_the_namespaces_of_the_policy(guarded: Guarded, fleet: Fleet) -> None:
    admin = give_keys(fleet.admin(guarded.server))
    admin.run("updateOrderConf", "-t", "Ordered", "-m", "put", "-v", "broker-a:7").prints("update orderConf success")
    admin.run("updateOrderConf", "-t", "Ordered", "-m", "get").prints(r"orderConf=\[broker-a:7\]")
    other = admin.run("updateKvConfig", "-s", "elsewhere", "-k", "colour", "-v", "green")
    other.fails_with(f"{REFUSED}.*operators may not use this namespace")


def test_topics_of_a_cluster_are_listed_for_an_operator(guarded: Guarded, fleet: Fleet) -> None:
    """The class scan."""
    asking = fleet.client("TopicsOfCluster", [guarded.server], CLUSTER, options=signs_as(OPERATORS))
    asking.wait_for("DONE")
    assert TOPIC in asking.values("TOPIC")


@pytest.mark.parametrize(("options", "reason"), [((), "no_evidence"), (signs_as(CLIENTS), "not_granted")])
def test_topics_of_a_cluster_are_not_listed_for_others(
    options: tuple[str, ...], reason: str, way: Way, fleet: Fleet
) -> None:
    asking = fleet.client("TopicsOfCluster", [way.relay], CLUSTER, options=options)
    asking.wait_for("DONE")
    assert REFUSED in asking.values("FAILED")[0]
    way.was_refused("scan", reason)


def test_topics_of_a_cluster_are_listed_for_all_where_all_is_observed(guarded: Guarded, way: Way, fleet: Fleet) -> None:
    with guarded.observed():
        asking = fleet.client("TopicsOfCluster", [way.relay], CLUSTER)
        asking.wait_for("DONE")
        assert TOPIC in asking.values("TOPIC")
        way.would_be_refused("scan")
