"""Names of megabytes: refused before they cost anybody time, memory or disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import compressed_body, data_version, register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client
from rocketns.config.limits import NAME_BYTES_MAX
from rocketns.protocol.bounds import REPEATED_BYTES_MAX
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import cluster_info
from tests.hostile.conftest import StartServer
from tests.hostile.watch import MB, Watch, cpu_seconds
from tests.hostile.witness import Witness

# Control reads and measures the names, whoever read the frame.

MANY_TOPICS = 100_000
SLOWEST_CPU_S = 1.0
# The name is read and measured, and the topics are inflated at most; with what the witness asks meanwhile.
TWO_FRAMES_CPU_S = 2.0
SMALL_GROWTH = 64 * MB


def topics(count: int, **settings: int) -> list[dict[str, Any]]:
    return [topic_config(f"T{number:05}", **settings) for number in range(count)]


def register(client: Client, name: str, body: bytes, addr: str = "10.9.9.9:1", **more: object) -> Answer:
    """With a binary header: it needs no escapes."""
    fields = register_ext("HostileCluster", name, addr, 0, body, **more)
    return client.request(codes.REGISTER_BROKER, fields, body, binary=True)


def test_a_name_of_megabytes_with_many_topics_sent_twice(server: NameServer) -> None:
    """6.9 MB, twice: each topic's look-up compared the name with an equal one, 25.6 s of control."""
    bodies = [compressed_body(topics(MANY_TOPICS, read=read), data_version(read)) for read in (1, 2)]
    with Witness(server, SLOWEST_CPU_S), Client(server.port, timeout_s=120) as client:
        before = cpu_seconds(server)
        answers = [register(client, "b" * 6 * MB, body, compressed="true") for body in bodies]
        took_s = cpu_seconds(server) - before
    assert took_s < TWO_FRAMES_CPU_S
    assert {answer.code for answer in answers} == {codes.SYSTEM_ERROR}


def test_brokers_with_addresses_of_megabytes(server: NameServer) -> None:
    """100 brokers, 1 MB each: every list that names them repeated it."""
    watch = Watch(server)
    with Client(server.port, timeout_s=60) as client:
        for number in range(100):
            addr = f"{number}".ljust(MB, "a")
            register(client, f"broker-{number}", register_body(topics(2)), addr)
        assert cluster_info(client) == {"brokerAddrTable": {}, "clusterAddrTable": {}}
    assert watch.peak_growth() < SMALL_GROWTH


@pytest.mark.parametrize("length", [MB, 4 * MB])
def test_a_name_of_control_characters_does_not_fill_the_journal(
    start_server: StartServer, tmp_path: Path, length: int
) -> None:
    """7.5 MB grew the journal by 450 MB; with 4 MB the records of others were lost as well."""
    server = start_server({"journalPath": tmp_path / "journal", "journalNs": "ns"})
    honest = Names()
    body = compressed_body(topics(90_000))
    with Witness(server, SLOWEST_CPU_S), Client(server.port, timeout_s=120) as client:
        registered(client, honest)
        assert register(client, "\x01" * length, body, compressed="true").code == codes.SYSTEM_ERROR
    server.stop()
    assert journal_bytes(tmp_path / "journal") < MB
    assert records(tmp_path / "journal", "drop") == []
    assert honest.broker in {record["broker"] for record in records(tmp_path / "journal", "tput")}


@pytest.mark.parametrize("character", ["b", "\x01"], ids=["plain", "control"])
def test_the_longest_name_with_the_most_topics(start_server: StartServer, tmp_path: Path, character: str) -> None:
    """What is taken at the bounds, and then taken again with other queues, costs little too."""
    server = start_server({"journalPath": tmp_path / "journal", "journalNs": "ns"})
    name = character * NAME_BYTES_MAX
    most = REPEATED_BYTES_MAX // len(json.dumps([name, "HostileCluster", "10.9.9.9:1"]))
    bodies = [compressed_body(topics(most, read=read), data_version(read)) for read in (1, 2)]
    with Witness(server, SLOWEST_CPU_S), Client(server.port, timeout_s=120) as client:
        before = cpu_seconds(server)
        answers = [register(client, name, body, compressed="true") for body in bodies]
        took_s = cpu_seconds(server) - before
    assert {answer.code for answer in answers} == {codes.SUCCESS}
    assert took_s < TWO_FRAMES_CPU_S
    server.stop()
    assert journal_bytes(tmp_path / "journal") < REPEATED_BYTES_MAX


def journal_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.jsonl"))


def records(folder: Path, event: str) -> list[dict[str, Any]]:
    lines = [line for file in sorted(folder.rglob("*.jsonl")) for line in file.read_bytes().splitlines()]
    return [record for record in map(json.loads, lines) if record["ev"] == event]
