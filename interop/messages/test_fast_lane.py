"""How many route lookups of real clients the reactors answer: all but one in a hundred. Printed at the end of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from interop.harness.rocketmq.java import CURRENT
from interop.harness.sending.clients import JavaClient
from interop.harness.sending.fleet import Fleet, name_server_list
from interop.harness.servers import NameServer, RocketnsServer
from interop.messages.test_clients_languages import GO, RUST

SECTION = "route lookups answered by reactors"
SHARE_MIN = 0.99
LOOKUPS_MIN = 100
TOPICS = [f"Steady-{n}" for n in range(300)]
# Each of its programs sends to one topic only, with one or two lookups, so many run one after the other.
RUST_RUNS = 100
Record = Callable[[str, object], None]
CLIENTS = ("Java", "Go", "Rust")
COUNTED = re.compile(r"route lookups: (\d+) answered by reactors, (\d+) handed over")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, NameServer]]:
    """A name server for each client, and a broker that has registered its topics with all of them."""
    with Fleet(RocketnsServer, tmp_path_factory.mktemp("fast-lane")) as fleet:
        started = {name: fleet.name_server() for name in CLIENTS}
        fleet.broker("broker-a", *started.values(), topics=TOPICS)
        yield started


@pytest.fixture(autouse=True)
def _rocketns_alone(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--against") == "java":
        pytest.skip("the Java server has no reactors")


def test_reactors_answer_java_clients(servers: dict[str, NameServer], fleet: Fleet, record_property: Record) -> None:
    """B198: a producer that sends to many topics, and a push consumer."""
    server = servers["Java"]
    consumer = fleet.consumer([server], TOPICS[0], "readers")
    assert_sent(fleet.producer([server], "Steady-*", len(TOPICS)), len(TOPICS))
    consumer.wait_for("GOT")
    assert_answered_by_reactors(server, f"Java, `rocketmq-client` {CURRENT}", record_property)


@pytest.mark.skipif(bool(GO.cannot_run()), reason=GO.cannot_run())
def test_reactors_answer_go_clients(servers: dict[str, NameServer], fleet: Fleet, record_property: Record) -> None:
    """B198: a producer that sends to many topics, and a push consumer."""
    server = servers["Go"]
    where = name_server_list(server)
    consumer = GO.start("consume", where, TOPICS[0], "readers-go", fleet)
    assert_sent(GO.start("produce", where, "Steady-*", len(TOPICS), fleet), len(TOPICS))
    consumer.wait_for("GOT")
    assert_answered_by_reactors(server, f"Go, {GO.client} {GO.version}", record_property)


@pytest.mark.skipif(bool(RUST.cannot_run()), reason=RUST.cannot_run())
def test_reactors_answer_rust_clients(servers: dict[str, NameServer], fleet: Fleet, record_property: Record) -> None:
    """B198: producers of one topic each, and a push consumer."""
    server = servers["Rust"]
    where = name_server_list(server)
    consumer = RUST.start("consume", where, TOPICS[0], "readers-rust", fleet)
    for topic in TOPICS[:RUST_RUNS]:
        assert_sent(RUST.start("produce", where, topic, 1, fleet), 1)
    consumer.wait_for("GOT")
    assert_answered_by_reactors(server, f"Rust, {RUST.client} {RUST.version}", record_property)


def assert_sent(producer: JavaClient, count: int) -> None:
    producer.wait_for("DONE", within_s=180)
    assert len(producer.values("SENT")) == count, producer.process.text()[-4000:]


def assert_answered_by_reactors(server: NameServer, client: str, record_property: Record) -> None:
    """The server's counts when it stops; printed with the others at the end of the run."""
    assert server.stop() == 0
    counted = COUNTED.search(server.process.text())
    assert counted, server.process.text()[-4000:]
    answered, handed_over = map(int, counted.groups())
    share = answered / (answered + handed_over)
    record_property(f"print {SECTION}", f"{client}: {share:.1%} of {answered + handed_over:,} lookups")
    assert answered + handed_over >= LOOKUPS_MIN
    assert share >= SHARE_MIN, f"{handed_over} of {answered + handed_over} lookups were handed over"
