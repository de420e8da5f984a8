"""How many route lookups of real clients the reactors answer: all but one in a hundred. Printed at the end of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.conftest import name_server_list
from interop.harness import views
from interop.harness.ports import free_port
from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.java import CURRENT
from interop.harness.sending.clients import JavaClient, start_consumer, start_producer
from interop.harness.sending.programs import Program, Start
from interop.harness.servers import NameServer, ReactorServer
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
    folder = tmp_path_factory.mktemp("fast-lane")
    started: dict[str, NameServer] = {}
    broker = None
    try:
        for name in CLIENTS:
            started[name] = ReactorServer(folder / name, {"listenPort": free_port()})
        broker = Broker(folder / "broker", "broker-a", name_server_list(*started.values()), topics=TOPICS)
        views.have_registered(broker, *started.values())
        yield started
    finally:
        for one in (broker, *started.values()):
            if one is not None:
                one.kill()


@pytest.fixture(autouse=True)
def _rocketns_alone(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--against") == "java":
        pytest.skip("the Java server has no reactors")


def test_reactors_answer_java_clients(servers: dict[str, NameServer], tmp_path: Path, record_property: Record) -> None:
    """B198: a producer that sends to many topics, and a push consumer."""
    server = servers["Java"]
    where = name_server_list(server)
    consumer = start_consumer(tmp_path / "consumer", where, TOPICS[0], "readers")
    producer = start_producer(tmp_path / "producer", where, "Steady-*", len(TOPICS))
    try:
        assert_sent(producer, len(TOPICS))
        consumer.wait_for("GOT")
    finally:
        producer.kill()
        consumer.kill()
    assert_answered_by_reactors(server, f"Java, `rocketmq-client` {CURRENT}", record_property)


@pytest.mark.skipif(bool(GO.cannot_run()), reason=GO.cannot_run())
def test_reactors_answer_go_clients(servers: dict[str, NameServer], run_client: Start, record_property: Record) -> None:
    """B198: a producer that sends to many topics, and a push consumer."""
    server = servers["Go"]
    consumer = started(GO, "consume", server, TOPICS[0], "readers-go", run_client)
    assert_sent(started(GO, "produce", server, "Steady-*", len(TOPICS), run_client), len(TOPICS))
    consumer.wait_for("GOT")
    assert_answered_by_reactors(server, f"Go, {GO.client} {GO.version}", record_property)


@pytest.mark.skipif(bool(RUST.cannot_run()), reason=RUST.cannot_run())
def test_reactors_answer_rust_clients(
    servers: dict[str, NameServer], run_client: Start, record_property: Record
) -> None:
    """B198: producers of one topic each, and a push consumer."""
    server = servers["Rust"]
    consumer = started(RUST, "consume", server, TOPICS[0], "readers-rust", run_client)
    for topic in TOPICS[:RUST_RUNS]:
        assert_sent(started(RUST, "produce", server, topic, 1, run_client), 1)
    consumer.wait_for("GOT")
    assert_answered_by_reactors(server, f"Rust, {RUST.client} {RUST.version}", record_property)


def started(program: Program, mode: str, server: NameServer, topic: str, last: object, run_client: Start) -> JavaClient:
    folder = str(program.prepare())
    command = [word.format(folder=folder) for word in program.command]
    return run_client(f"{mode}-{topic}", [*command, mode, name_server_list(server), topic, str(last)], program.env)


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
