"""What two real Java consumers of one group do while name servers differ, and what `rocketns audit` says of it.

Three rocketns with journals, two real brokers, a producer, and consumers with addresses of their own, as on two hosts.
c1 asks n1, which has both brokers; c2 asks n2. Only broker-b reaches n2 through a relay. A cut there removes broker-b
from c2's view alone: the worked example of docs/audit.md, with real clients.

Where reality leaves the model, read in the 5.5.0 client and broker: at first both get the same list of members, since
c2 is still in broker-b's list. Then broker-b forgets c2, which drops the broker with the route and sends it no more
heartbeats (channelExpiredTimeout, 120 s by default). From then on c1 gets, by chance, a list of two from broker-a or of
itself alone from broker-b, and takes either its part or every queue that it sees. So orphaned queue-seconds of the
audit are an upper bound in windows that last for longer than about two and a half minutes with default settings.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from interop.audit.audited import Audit, audited
from interop.audit.watched import BROKER, BROKER_TIMEOUT_S, JOURNAL, SCAN, TOPIC, VERSIONS, WITHIN_S, A, B, now_ms
from interop.harness.sending.clients import TELLS_QUEUES, JavaClient
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.topics import create_topic
from interop.harness.views import brokers, have_registered
from interop.harness.wire import eventually

pytestmark = pytest.mark.timeout(2400)  # the whole story is played before the first test
NAME_SERVERS = ("n1", "n2", "n3")
GROUP = "order_group"
ADDRESSES = {"c1": "127.0.0.11", "c2": "127.0.0.12"}
ASKS = {"c1": "n1", "c2": "n2"}
# What c1 and c2 have while c2 sees broker-a alone: each takes half of what it sees.
SHARED = frozenset({"broker-a:2", "broker-a:3"})
# Instead of 120 s: how long a broker remembers a consumer.
FORGETS = {"channelExpiredTimeout": 20_000}
# Of the clocks of the audit and of the test, which are the same.
SKEW_MS = 1_000
Queues = frozenset[str]


class Story(NamedTuple):
    """Times are epoch ms: the cut, and n2 without broker-b; the healing, and n2 with it. ``shown``: the name servers
    that had it during the cut."""

    cut: int
    gone: int
    shown: dict[str, bool]
    healed: int
    back: int
    audit: Audit


def has(client: JavaClient) -> list[Queues]:
    """The queues that a consumer had, one after the other."""
    return [frozenset(line.split()[1:]) for line in client.values("HAS")]


def texts(client: JavaClient, word: str) -> set[str]:
    """Of lines: GOT or SENT, time, queue, text."""
    return {line.split(" ")[2] for line in client.values(word)}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    home = tmp_path_factory.mktemp("truth")
    with Fleet(RocketnsServer, home) as fleet:
        journal = fleet.folder("journal")
        settings = SCAN | JOURNAL | {"journalLookupClients": "true", "journalPath": journal}
        servers = {ns: fleet.name_server(settings | {"journalNs": ns}) for ns in NAME_SERVERS}
        return played(fleet, servers, journal)


def played(fleet: Fleet, servers: dict[str, NameServer], journal: Path) -> Story:
    between, properties = fleet.relay(servers["n2"].port), BROKER | FORGETS
    broker_a = fleet.broker("broker-a", *servers.values(), properties=properties, topics=[TOPIC])
    relayed = (servers | {"n2": between}).values()
    have_registered(fleet.unregistered("broker-b", relayed, properties=properties, topics=[TOPIC]), *servers.values())
    for number in range(VERSIONS):
        create_topic(broker_a.port, f"changed_{number}")
    c1, c2 = (consumer(fleet, ADDRESSES[name], servers[ns]) for name, ns in ASKS.items())
    producer = fleet.producer([servers["n3"]], TOPIC, 1_000_000, pause_ms=20, options=TELLS_QUEUES)

    def spread(*wanted: Queues) -> None:
        """Wait until each consumer has exactly these queues."""
        eventually(lambda: [has(one)[-1:] for one in (c1, c2)] == [[queues] for queues in wanted], WITHIN_S)

    def shows(names: set[str]) -> int:
        """Wait until n2 shows exactly these brokers; returns when. No lookup is sent, as lookups are counted."""
        eventually(lambda: set(brokers(servers["n2"])) == names, WITHIN_S, every_s=0.1)
        return now_ms()

    spread(A, B)
    cut = now_ms()
    between.cut()
    gone = shows({"broker-a"})
    spread(A, SHARED)
    seen = len(has(c1))
    eventually(lambda: A | B in has(c1)[seen:], WITHIN_S, every_s=0.2)  # broker-b has forgotten c2
    shown = {ns: "broker-b" in brokers(server) for ns, server in servers.items()}
    healed = now_ms()
    between.heal()
    back = shows({"broker-a", "broker-b"})
    spread(A, B)
    producer.stop()
    assert producer.values("DONE")
    assert not producer.values("FAILED")
    eventually(lambda: texts(producer, "SENT") <= texts(c1, "GOT") | texts(c2, "GOT"), WITHIN_S, every_s=0.2)
    for server in servers.values():  # before the brokers, so that no client fails
        assert server.stop() == 0
    (found,) = audited((journal, fleet.folder("audit")))
    return Story(cut, gone, shown, healed, back, found)


def consumer(fleet: Fleet, address: str, server: NameServer) -> JavaClient:
    relay, options = fleet.relay(server.port, address), (f"-Dinterop.clientIP={address}",)
    return fleet.consumer([relay], TOPIC, GROUP, main="QueueConsumer", options=options)


def test_the_audit_finds_the_cut_and_says_when_where_why_and_what_it_did_to_consumers(story: Story) -> None:
    """The consumers had these queues; lookups show which of them asked which name server."""
    rows = {name: story.audit.rows(name) for name in ("key_windows", "impact", "group_members", "departures")}
    assert story.audit.status == 1, story.audit.said
    window = next(row for row in rows["key_windows"] if row["topic"] == TOPIC and row["cause"] == "expired")
    assert (window["broker"], window["opened_by"]) == ("broker-b", "n2")
    assert {v["ns"]: v["present"] for v in window["values"]} == story.shown == {"n1": True, "n2": False, "n3": True}
    assert story.cut - SKEW_MS <= window["t1"] / 1000 <= story.gone + SKEW_MS
    assert story.healed - SKEW_MS <= window["t2"] / 1000 <= story.back + SKEW_MS
    assert window["gap"] >= BROKER_TIMEOUT_S * 1000
    assert [row["kind"] for row in rows["departures"] if row["broker"] == "broker-b"] == ["partition"]

    asked = {(row["client"].split(":")[0], row["ns"], row["group"]) for row in rows["group_members"]
             if row["topic"] == TOPIC}  # fmt: skip
    assert asked == {(ADDRESSES[name], ns, GROUP) for name, ns in ASKS.items()}
    impact = {row["assignments"]: row for row in rows["impact"]
              if (row["topic"], row["t1"], row["strategy"]) == (TOPIC, window["t1"], "averagely")}  # fmt: skip
    real, model = impact["real"], impact["model"]
    assert (real["c"], frozenset(real["orphaned_ids"]), frozenset(real["dup_ids"])) == (2, B, SHARED)
    # The model of the same views without lookups: the worst way is this one, the mean is over both ways.
    assert (model["orphaned_mean"], model["orphaned_max"], model["dup_mean"], model["dup_max"]) == (3, 4, 1, 2)
