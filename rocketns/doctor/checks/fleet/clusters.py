"""Broker names that are registered in two clusters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rocketns.doctor.checks.showing import listed, setting
from rocketns.doctor.checks.weighing import weight_of_brokers
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State
from rocketns.doctor.words import _

NAME = "broker-in-two-clusters"


def clusters(facts: Facts) -> Iterator[Finding]:
    """A finding for each such name."""
    for broker, found in sorted(_clusters_of(facts).items()):
        if len(found) > 1:
            sentence = _("The broker name %(broker)s is registered in several clusters, %(clusters)s: brokers of one "
                         "name are one broker to clients, and replace each other's address.") % {
                "broker": broker, "clusters": listed(found)}  # fmt: skip
            evidence = tuple(
                _("cluster %(cluster)s has %(broker)s at %(addrs)s")
                % {"cluster": cluster, "broker": broker, "addrs": listed(at)}
                for cluster, at in sorted(found.items())
            )
            commands = (
                _("# in broker.conf of the broker of one cluster, then restart it:"),
                setting("brokerName", f"{broker}-2"),
                _("# or, where only its cluster is wrong: brokerClusterName=%(cluster)s")
                % {"cluster": _home(facts, broker) or min(found)},
            )
            evidence += tuple(_own(facts, broker))
            yield Finding(NAME, State.ILL, sentence, evidence, commands, weight_of_brokers(facts, {broker}))


def _home(facts: Facts, broker: str) -> str | None:
    """The cluster that a name server shows with its addresses: that of the broker which came first."""
    group = facts.groups.get(broker)
    return None if group is None else group.cluster


def _own(facts: Facts, broker: str) -> Iterator[str]:
    """What the brokers of that name have in their configurations."""
    for one in facts.brokers:
        cluster = one.setting("brokerClusterName")
        if one.name == broker and cluster is not None:
            yield _("%(broker)s (%(addr)s): brokerClusterName=%(cluster)s (request 26)") % {
                "broker": broker, "addr": one.addr, "cluster": cluster}  # fmt: skip


def _clusters_of(facts: Facts) -> dict[str, dict[str, set[str]]]:
    """By broker name and cluster, the name servers that say so."""
    found: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in facts.readable:
        for cluster, names in one.clusters.items():
            for name in names:
                found[name][cluster].add(one.addr)
        for name, group in (one.groups or {}).items():
            if group.cluster is not None:
                found[name][group.cluster].add(one.addr)
    return {name: dict(places) for name, places in found.items()}
