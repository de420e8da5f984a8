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
    for _ in range(70):  # one step would be a stall
        managed.advance(1_000)
    first.beat()
    return managed


def late_after_a_stall(scene: PlantedTrouble) -> Managed:
    managed = scene.start()
    first, _ = scene.brokers(managed, "broker-a", "broker-b")
    managed.advance(70_000)
    first.beat()
    return managed


def no_master(scene: PlantedTrouble) -> Managed:
    managed = scene.start()
    _, master = scene.brokers(managed, "broker-a", "broker-b")
    scene.stack.enter_context(Broker(managed, "broker-b", 1, addr="10.0.0.9:10911").register())
    master.unregister()
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
    asked = managed.controller.facts.asked
    return managed.call(lambda: [one.nearest for one in asked.all_missing()] not in ([], [None]))


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
    eventually(lambda: (facts := managed.controller.facts.journal) is not None and facts.failure)
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


@dataclass(frozen=True)
class Shown:
    """How a trouble is planted, the name of its reason, how the text of the status and its remedy begin, and the first
    line to copy.
    """

    plant: Callable[[PlantedTrouble], Managed]
    name: str
    says: str
    remedy: str
    line: str


ASK_BROKERS, ASK_BOTH = "The doctor asks the brokers themselves", "The doctor asks the brokers too"
DOCTOR = "rocketns doctor "
TROUBLES = (
    Shown(lost_broker, "lost", "Lost in the last 10 minutes: broker-b (master) at 10.0.0.2:10911",
          "Start it again where it ran.", DOCTOR),
    Shown(late_broker, "late", "Heartbeats are late: broker-b (master)", ASK_BROKERS, DOCTOR),
    Shown(late_after_a_stall, "late", "Heartbeats are late since this name server did not run: broker-b (master)",
          "Wait 30 s for their next heartbeats.", DOCTOR),
    Shown(no_master, "noMaster", "No master: broker-b (last at 10.0.0.2:10911)",
          "Start its master again, with these lines in its broker.conf:", "brokerClusterName=C1"),
    Shown(one_of_two_name_servers, "disagreeBroker", "Name servers disagree about broker broker-b", ASK_BOTH, DOCTOR),
    Shown(topic_differs, "disagreeTopic", f"Name servers disagree about topic {TOPICS[0]}", ASK_BOTH, DOCTOR),
    Shown(peer_unreachable, "unreadable", f"The name server {CLOSED} cannot be read",
          "Start it, or open the way to it.", f"{DOCTOR}{CLOSED}"),
    Shown(wiped_permission, "wiped", "Write permission is wiped, so no producer can send to broker-b",
          "When its maintenance is over, allow writing again:", "mqadmin addWrite"),
    Shown(missing_topic, "missing", "Asked for, and not there: order-0000I",
          f"Correct the name in the client: did it mean {', '.join(TOPICS[:3])}?", "mqadmin updateTopic "),
    Shown(not_ready, "notReady", "This name server is still starting: waitSecondsForService is not over",
          "Wait for its end.", "rocketns health "),
    Shown(tables_full, "refusing", "Registrations are refused, the route tables are full: broker-b at 10.0.0.9:1",
          "Raise the limit in its properties file", "# rocketns.brokersMax=1 is reached"),
    Shown(journal_not_written, "journalFailing", "The journal cannot be written: [Errno 17] File exists: '/",
          "Make room or allow the writing", "df -h "),
    Shown(certificate_ends, "certificate", "The TLS certificate ends within a day: 20",
          "Replace the files of certificate and key", "openssl s_client "),
)  # fmt: skip


@pytest.mark.usefixtures("no_old_numbers")
@pytest.mark.parametrize("shown", TROUBLES, ids=[one.plant.__name__ for one in TROUBLES])
def test_a_trouble_is_a_reason_to_look_and_has_what_mends_it(
    start_managed: Callable[..., Managed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    shown: Shown,
) -> None:  # fmt: skip
    monkeypatch.setattr(fleet, "ROUND_S", 0.05)
    monkeypatch.setattr(fleet, "AGAIN_S", 0.02)
    with ExitStack() as stack:
        managed = shown.plant(PlantedTrouble(start_managed, tmp_path, stack))

        def reasons() -> dict[str, dict[str, Any]]:
            return {one["name"]: one for one in orjson.loads(get(managed, "status").body)["reasons"]}

        reason = eventually(lambda: reasons().get(shown.name))
        assert reason["text"].startswith(shown.says)
        assert reason["remedy"].startswith(shown.remedy)
        assert reason["commands"][0].startswith(shown.line)
