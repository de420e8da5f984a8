"""A broker and clients that have no list of name servers: they ask the address server of rocketns."""

from __future__ import annotations

import signal
import urllib.request

import pytest

from interop.harness import views
from interop.harness.ports import free_port
from interop.harness.sending.fleet import Fleet
from interop.harness.sending.programs import assert_program_sends_and_receives
from interop.harness.wire import eventually
from interop.messages.test_clients_languages import GO
from rocketns.addressserver.listing import LISTED_S

TOPICS_MAX = 100_000


def asking_at(port: int) -> dict[str, object]:
    """Properties of a broker that asks the address server at a port every second."""
    return {
        "fetchNamesrvAddrByAddressServer": "true", "fetchNamesrvAddrInterval": 1000,
        "rmqAddressServerDomain": f"127.0.0.1:{port}",
    }  # fmt: skip


def listed(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/rocketmq/nsaddr", timeout=60) as answer:
        text: str = answer.read().decode()
    return text


@pytest.mark.needs("go")
def test_a_second_name_server_is_used_by_a_broker_and_clients_that_run_on(fleet: Fleet) -> None:
    """The Java producer sends each message to a new topic, so it needs a name server for each of them."""
    ports = free_port(), free_port()
    first, second = (fleet.name_server({"rocketns.addressServer": port}) for port in ports)
    asking = fleet.unregistered("broker-a", [], properties=asking_at(ports[0]), topics=[GO.topic])
    views.have_registered(asking, first)
    assert asking.name not in views.brokers(second)

    producer = fleet.producer(
        [], "T-*", TOPICS_MAX, pause_ms=200, options=(f"-Drocketmq.namesrv.domain=127.0.0.1:{ports[0]}",)
    )
    producer.wait_for("SENT")
    both = ";".join(sorted(f"127.0.0.1:{server.port}" for server in (first, second)))
    for server in (first, second):
        with server.config_path.open("a") as file:
            file.write(f"rocketns.peers={both}\n")
        server.process.signal(signal.SIGHUP)
    eventually(lambda: [listed(port) for port in ports] == [both, both], every_s=0.2)
    views.have_registered(asking, second)
    log = producer.process.output.with_name("java.log")
    eventually(lambda: f"new={both}" in log.read_text("utf-8", "replace"), 120.0, every_s=0.2)

    first.kill()
    producer.wait_for_more("SENT", 20)
    eventually(lambda: listed(ports[1]) == f"127.0.0.1:{second.port}", LISTED_S + 60.0, every_s=0.2)
    assert_program_sends_and_receives(GO, f"http://127.0.0.1:{ports[1]}/rocketmq/nsaddr", asking, fleet)
    producer.stop()
