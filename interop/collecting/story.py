"""Plays one story before a cluster that is watched: a cut link, a wiped permission, a stopped and a killed broker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from interop.audit.audited import AUDIT_TIMEOUT_S
from interop.audit.deployment import now_ms
from interop.collecting.cluster import CUT_OFF, JAVA, NAMES, Cluster, started
from interop.collecting.collector import INTERVAL_S, Collector, Live, collected, live
from interop.collecting.truth import Change, Shown, Truth
from interop.harness import codes
from interop.harness.payloads import register_body, register_ext
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import RocketnsServer
from interop.harness.wire import eventually

# Long: a busy machine may take ten times as long as a quiet one.
WITHIN_S = 240.0
BOTH, ONLY_A, A_READS = {"broker-a": 6, "broker-b": 6}, {"broker-a": 6}, {"broker-a": 4, "broker-b": 6}
# How long each difference lasts: well above the audit's --min-window of 5 s and the time between two polls.
LASTS_S = 10.0
# As many as the audit needs to trust what they say of a clock.
REGISTRATIONS = 3
REGISTERED = register_body([])


class Story(NamedTuple):
    """``cut`` and ``healed`` are epoch ms. ``changes``: what each name server really showed. ``own`` and ``collected``
    are folders of journals, ``live`` is what `rocketns audit run --name-servers` made of the same time."""

    cut: int
    healed: int
    changes: dict[str, list[Change]]
    own: Path
    collected: Path
    live: Live

    def change(self, name: str, shown: Shown) -> Change:
        """When a name server first showed exactly this since the cut."""
        return next(one for one in self.changes[name] if one.until > self.cut and one.shown == shown)


def play(home: Path) -> Story:
    """About a minute and a half on a quiet machine."""
    with Fleet(RocketnsServer, home) as fleet:
        cluster = started(fleet)
        truth = fleet.closes(Truth(cluster.servers))
        shows(truth, NAMES, BOTH)
        at_once = fleet.kills(live(fleet, {name: cluster.servers[name] for name in JAVA}))
        collector = fleet.kills(collected(fleet, cluster.servers))
        brokers_come_and_go(cluster)
        cut, healed = links_are_cut(cluster, truth)
        permission_is_wiped(cluster, truth)
        brokers_leave(cluster, truth)
        truth.stop()
        at_once.process.wait(AUDIT_TIMEOUT_S)  # before the name servers end
        ended(collector, cluster)
        return Story(cut, healed, truth.changes, cluster.own, collector.journal, at_once)


def brokers_come_and_go(cluster: Cluster) -> None:
    """Some brokers register everywhere: the audit compares the collector's clock by what both kinds of journal show."""
    with ExitStack() as connections:
        for number in range(REGISTRATIONS):
            fields = register_ext(broker=f"short-{number}", addr=f"10.0.0.{number}:10911", body=REGISTERED)
            for server in cluster.servers.values():
                client = connections.enter_context(server.connect())
                assert client.request(codes.REGISTER_BROKER, fields, REGISTERED).code == codes.SUCCESS
            time.sleep(INTERVAL_S)


def links_are_cut(cluster: Cluster, truth: Truth) -> tuple[int, int]:
    """From when to when the links were cut; at the end every name server has both brokers again."""
    cut = now_ms()
    for link in cluster.links:
        link.cut()
    shows(truth, CUT_OFF, ONLY_A)
    time.sleep(LASTS_S)
    healed = now_ms()
    for link in cluster.links:
        link.heal()
    shows(truth, CUT_OFF, BOTH)
    time.sleep(LASTS_S)
    return cut, healed


def permission_is_wiped(cluster: Cluster, truth: Truth) -> None:
    """broker-a may not be written to at j2 and n2 for a while (mqadmin wipeWritePerm, addWritePerm)."""
    for code, shown in ((codes.WIPE_WRITE_PERM_OF_BROKER, A_READS), (codes.ADD_WRITE_PERM_OF_BROKER, BOTH)):
        for name in CUT_OFF:
            with cluster.servers[name].connect() as client:
                assert client.request(code, {"brokerName": "broker-a"}).code == codes.SUCCESS
        shows(truth, CUT_OFF, shown)
        time.sleep(LASTS_S)


def brokers_leave(cluster: Cluster, truth: Truth) -> None:
    """broker-b stops in good order, then broker-a is killed; each is seen by the next poll."""
    steps: tuple[tuple[Callable[[], object], Shown], ...] = (
        (cluster.brokers["broker-b"].ask_to_stop, ONLY_A),
        (cluster.brokers["broker-a"].kill, {}),
    )
    for leave, shown in steps:
        leave()
        shows(truth, NAMES, shown)
        time.sleep(LASTS_S)


def shows(truth: Truth, names: Iterable[str], shown: Shown) -> None:
    """Wait until each of the name servers shows exactly this."""
    wanted = tuple(names)
    eventually(lambda: all(truth.shown(name) == shown for name in wanted), WITHIN_S)


def ended(collector: Collector, cluster: Cluster) -> None:
    """Stop what writes journals; each ends in good order."""
    assert collector.stop() == 0, collector.process.text()
    for server in cluster.servers.values():
        server.stop()
