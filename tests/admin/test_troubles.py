"""The twelve commonest troubles of a fleet, planted on real servers: each is a reason to look in the status, with
its remedy.

Brokers die, hang, or lose their master. A broker registers at one of several name servers only, or a permission is
changed at one of them, or one of them cannot be reached. Operators wipe a permission and forget it. Nobody created
a topic. And the name server itself waits after its start, is full, writes no journal, or lets its certificate end.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.wire import eventually
from rocketns.server import fleet
from tests.admin.conftest import Broker, Managed, get
from tests.client.peers import CLOSED
from tests.support.certificates import Files, authority
from tests.support.inprocess import TimedServer
from tests.support.tlsfiles import tls_properties

TOPICS = [f"order-{number:05}" for number in range(40)]


@dataclass
class PlantedTrouble:
    """A server, what else runs, and a folder for files. All ends with ``stack``."""

    start: Callable[..., Managed]
    folder: Path
    stack: ExitStack

    def brokers(self, server: Any, *names: str) -> list[Broker]:
        """Masters with all the topics."""
        made = [Broker(server, name, addr=f"10.0.0.{number}:10911") for number, name in enumerate(names, 1)]
        return [self.stack.enter_context(one.register(TOPICS)) for one in made]

    def other(self) -> TimedServer:
        """Another name server."""
        (self.folder / "other").mkdir()
        server = TimedServer(self.folder / "other")
        self.stack.callback(server.stop)
        return server

    def compared(self) -> tuple[Managed, TimedServer]:
        """A server that compares itself with another one."""
        other = self.other()
        return self.start({"rocketns.peers": f"127.0.0.1:{other.port}"}), other


def lost_broker(scene: PlantedTrouble) -> Managed:
    managed = scene.start()
    _, lost = scene.brokers(managed, "broker-a", "broker-b")
    lost.client.close()
    eventually(lambda: managed.call(lambda: "broker-b" not in managed.controller.facts.tables.broker_addr_table))
    return managed


def late_broker(scene: PlantedTrouble) -> Managed:
    managed = scene.start()
    first, _ = scene.brokers(managed, "broker-a", "broker-b")
    managed.advance(70_000)
    first.beat()
    return managed


def no_master(scene: PlantedTrouble) -> Managed:
    managed = scene.start()
    scene.brokers(managed, "broker-a")
    scene.stack.enter_context(Broker(managed, "broker-b", 1, addr="10.0.0.9:10911").register())
    return managed


def one_of_two_name_servers(scene: PlantedTrouble) -> Managed:
    managed, other = scene.compared()
    scene.brokers(managed, "broker-a", "broker-b")
    scene.brokers(other, "broker-a")
    return managed


def topic_differs(scene: PlantedTrouble) -> Managed:
    managed, other = scene.compared()
    scene.brokers(managed, "broker-a", "broker-b")
    _, changed = scene.brokers(other, "broker-a", "broker-b")
    configs = [topic_config(topic, 4, 4, 4 if topic == TOPICS[0] else 6) for topic in (*TOPICS, "broker-b", "C1")]
    body = register_body(configs, data_version(2))
    fields = register_ext("C1", "broker-b", changed.addr, 0, body)
    assert changed.client.request(codes.REGISTER_BROKER, fields, body).code == 0
    return managed


def peer_unreachable(scene: PlantedTrouble) -> Managed:
    managed = scene.start({"rocketns.peers": CLOSED})
    scene.brokers(managed, "broker-a")
    return managed


def wiped_permission(scene: PlantedTrouble) -> Managed:
    managed = scene.start()
    first, _ = scene.brokers(managed, "broker-a", "broker-b")
    assert first.client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-b"}).code == 0
    return managed


def missing_topic(scene: PlantedTrouble) -> Managed:
    managed = scene.start()
    scene.brokers(managed, "broker-a")
    with managed.connect() as client:
        assert client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "order-0000I"}).code == codes.TOPIC_NOT_EXIST
        eventually(lambda: _is_missing(managed))
    return managed


def _is_missing(managed: Managed) -> bool:
    managed.advance(1_000)
    return managed.controller.facts.asked.missing == 1


def not_ready(scene: PlantedTrouble) -> Managed:
    managed = scene.start({"needWaitForService": "true"})
    scene.brokers(managed, "broker-a")
    return managed


def tables_full(scene: PlantedTrouble) -> Managed:
    managed = scene.start({"rocketns.brokersMax": 1})
    scene.brokers(managed, "broker-a")
    with managed.connect() as client:
        body = register_body([topic_config("T")])
        fields = register_ext("C1", "broker-b", "10.0.0.9:1", 0, body)
        assert client.request(codes.REGISTER_BROKER, fields, body).code != 0
    return managed


def journal_not_written(scene: PlantedTrouble) -> Managed:
    (scene.folder / "file").write_text("a file where a folder should be", "utf-8")
    managed = scene.start({"journalPath": scene.folder / "file" / "journal"})
    scene.brokers(managed, "broker-a")
    journal = managed.controller.journal
    assert journal is not None
    eventually(lambda: (facts := managed.controller.facts.journal) is not None and facts.is_failing)
    return managed


def certificate_ends(scene: PlantedTrouble) -> Managed:
    files = Files.write(scene.folder / "tls", authority("ours").issue("localhost"))  # it ends tomorrow
    managed = scene.start(tls_properties(files))
    managed.call(lambda: managed.clock.set_wall(round(time.time() * 1000) - managed.clock.now().epoch_ms))
    scene.brokers(managed, "broker-a")
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with managed.connect() as client, trusting.wrap_socket(client.socket) as encrypted:
        assert encrypted.version() is not None
    eventually(lambda: managed.controller.facts.tls.certificate_ends_s is not None)
    return managed


# How each is planted, the name of its reason, what the status says of it, and how the first line to copy begins.
DOCTOR = "rocketns doctor "
TROUBLES = (
    (lost_broker, "lost", "Lost in the last 10 minutes: broker-b (master)", DOCTOR),
    (late_broker, "late", "Heartbeats are late: broker-b (master)", DOCTOR),
    (no_master, "noMaster", "No master: broker-b", "brokerClusterName=C1"),
    (one_of_two_name_servers, "disagreeBroker", "Name servers disagree about broker broker-b", DOCTOR),
    (topic_differs, "disagreeTopic", f"Name servers disagree about topic {TOPICS[0]}", DOCTOR),
    (peer_unreachable, "unreadable", f"The name server {CLOSED} cannot be read", f"{DOCTOR}{CLOSED}"),
    (wiped_permission, "wiped", "No topic takes messages, write permission is wiped: broker-b", "mqadmin addWrite"),
    (missing_topic, "missing", "Asked for, and not there: order-0000I", "mqadmin updateTopic "),
    (not_ready, "notReady", "This name server is not ready", "rocketns health "),
    (tables_full, "refusing", "Registrations are refused: the route tables are full", "rocketns.brokersMax=2"),
    (journal_not_written, "journalFailing", "The journal cannot be written", "df -h "),
    (certificate_ends, "certificate", "The TLS certificate ends ", "openssl s_client "),
)


@pytest.mark.usefixtures("no_old_numbers")
@pytest.mark.parametrize(("plant", "name", "says", "line"), TROUBLES, ids=[name for _, name, *_ in TROUBLES])
def test_a_trouble_is_a_reason_to_look_and_has_what_mends_it(
    start_managed: Callable[..., Managed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[PlantedTrouble], Managed], name: str, says: str, line: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(fleet, "ROUND_S", 0.05)
    monkeypatch.setattr(fleet, "AGAIN_S", 0.02)
    with ExitStack() as stack:
        managed = plant(PlantedTrouble(start_managed, tmp_path, stack))

        def reasons() -> dict[str, dict[str, Any]]:
            return {one["name"]: one for one in orjson.loads(get(managed, "status").body)["reasons"]}

        reason = eventually(lambda: reasons().get(name))
        assert reason["text"].startswith(says)
        assert reason["remedy"]
        assert reason["commands"][0].startswith(line)
