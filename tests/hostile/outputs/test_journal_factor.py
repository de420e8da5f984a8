"""The journal: how many bytes a stranger makes it write, and that no record of another broker is lost by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from rocketns.journal.buffer import LARGE_SHARE
from tests.behaviour.calls import route_body
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.hostile.conftest import StartServer
from tests.hostile.outputs.stranger import CONTROL, LONG, Stranger
from tests.hostile.outputs.stranger import names as many
from tests.hostile.outputs.table import JOURNAL_FACTOR
from tests.hostile.witness import Witness
from tests.journal.files import contents, is_written

# Control hands records to the journal, and reactors hand over none.

BUFFER_BYTES = 16 << 20
# A broker name, times its topics, may have as many bytes as a frame.
BROKER = "\x02" * 30
# No flush in the time of a test.
NO_FLUSH_MS = 60_000
# To change 80,000 topics takes control 0.1 s.
HELD_CPU_S = 0.4


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "j"


def files(journal: Path) -> list[Path]:
    return [path for path in journal.rglob("*") if path.is_file()]


def journal_bytes(journal: Path) -> int:
    return sum(path.stat().st_size for path in files(journal))


def topics_in(journal: Path) -> int:
    return sum(data.count(b'{"t":"') for data in contents(files(journal)))


@pytest.fixture(params=[(5_000, 300, 100), (500, LONG, 1_000), (20_000, 9, 50)], ids=["300", "4000", "many"])
def shape(request: pytest.FixtureRequest) -> tuple[list[str], str]:
    """Topics, and the name of their broker."""
    count, length, broker = request.param
    return many(count, length), "\x02" * broker


def test_a_byte_of_a_registration_becomes_few_bytes_of_the_journal(
    start_server: StartServer, journal: Path, shape: tuple[list[str], str]
) -> None:
    server = start_server({"journalPath": journal, "journalFsyncMs": 50, "journalSnapshotBytes": 1 << 30})
    topics, broker = shape
    with server.connect() as client:
        stranger = Stranger(client)
        before = journal_bytes(journal)
        stranger.register(broker, topics)
        eventually(lambda: topics_in(journal) >= len(topics), every_s=0.2)
        assert journal_bytes(journal) - before <= JOURNAL_FACTOR * stranger.sent
    assert "records are lost" not in server.process.text()


def test_heartbeats_do_not_repeat_long_names(start_server: StartServer, journal: Path) -> None:
    """A frame of 60 bytes is the sign of life of a broker whose name has 4,000 control characters."""
    server = start_server({"journalPath": journal, "journalFsyncMs": 50})
    with server.connect() as client, server.connect() as other:
        registered(client, Names(), brokerName=CONTROL * LONG, clusterName="C", brokerAddr="10.9.9.9:1")
        for _ in range(300):
            sign = {"brokerName": "", "clusterName": "C", "brokerAddr": "10.9.9.9:1", "brokerId": "0"}
            assert client.request(codes.BROKER_HEARTBEAT, sign).code == codes.SUCCESS
        last = Names()
        registered(other, last)
        eventually(lambda: is_written(journal, last.broker.encode()))
        assert journal_bytes(journal) < 40 * 6 * LONG


def test_small_frames_that_change_many_topics_write_a_bounded_number_of_bytes_between_flushes(
    start_server: StartServer, journal: Path, names: Names
) -> None:
    """A frame of 300 bytes changes 10,000 topics with names of 300 control characters."""
    server = start_server({"journalPath": journal, "journalNs": "n1", "journalFsyncMs": NO_FLUSH_MS})
    with server.connect() as client, server.connect() as honest:
        stranger = Stranger(client)
        stranger.register(BROKER, many(10_000, 300))
        before, sent = journal_bytes(journal), stranger.sent
        stranger.wipe(BROKER, 20)
        assert stranger.sent - sent < 20_000
        registered(honest, names)
        route = route_body(honest, names.topic("T"))
        assert journal_bytes(journal) - before <= LARGE_SHARE * BUFFER_BYTES + (4 << 20)
        eventually(lambda: is_written(journal, names.topic("T").encode()), every_s=0.2)
        check_restart(server, names, route)


def check_restart(server: NameServer, names: Names, route: bytes) -> None:
    """After a kill the honest topic is there, and no record is missing."""
    server.kill()
    assert "records are lost" not in server.process.text()
    server.start()
    with server.connect() as client:
        assert route_body(client, names.topic("T")) == route
    assert "Records are missing" not in server.process.text()


def test_control_is_not_held_while_a_large_request_is_recorded(start_server: StartServer, journal: Path) -> None:
    server = start_server({"journalPath": journal, "rocketns.brokerRoutesMax": 1_000_000})
    with server.connect() as client:
        stranger = Stranger(client)
        stranger.register(BROKER, many(80_000, 300))
        with Witness(server, slowest_cpu_s=HELD_CPU_S):
            stranger.wipe(BROKER, 3)
