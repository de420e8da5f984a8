"""mqadmin with keys and without: a command of each class of requests that it sends, enforced and observed."""

from __future__ import annotations

from interop.access.guarded import NAMESPACE, TOPIC, Guarded, Way, give_keys
from interop.harness.rocketmq.brokers import CLUSTER
from interop.harness.sending.fleet import Fleet
from interop.harness.wire import eventually

REFUSED = "CODE: 16 "
# By the class of what it asks first: a command, and what it prints when it is answered.
COMMANDS = {
    "lookup": (("topicRoute", "-t", TOPIC, "-l"), f"{CLUSTER} +broker-a "),
    "read": (("clusterList",), f"{CLUSTER} +broker-a "),
    "config": (("getNamesrvConfig",), "bindAddress"),
    "admin": (("updateKvConfig", "-s", NAMESPACE, "-k", "colour", "-v", "green"), "create or update kv config"),
}


def test_operator_who_signs_is_answered_within_the_namespaces_of_the_policy(guarded: Guarded, fleet: Fleet) -> None:
    operator = give_keys(fleet.admin(guarded.server))
    for words, printed in COMMANDS.values():
        operator.run(*words).prints(printed)
    other = operator.run("updateKvConfig", "-s", "elsewhere", "-k", "colour", "-v", "green")
    other.fails_with(f"{REFUSED}.*operators may not use this namespace")


def test_operator_without_keys_is_refused_and_answered_where_all_is_observed(
    guarded: Guarded, way: Way, fleet: Fleet
) -> None:
    admin = fleet.admin(way.relay)
    for words, _ in COMMANDS.values():
        admin.run(*words).says(REFUSED)
    eventually(lambda: way.told("refused") == [*COMMANDS])
    with guarded.observed():
        for words, printed in COMMANDS.values():
            admin.run(*words).prints(printed)
        eventually(lambda: way.told("would refuse") == [*COMMANDS])
