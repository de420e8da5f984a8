"""What a scrape shows when a disk is slow, nobody reads the log, TLS files are broken, or name servers disagree."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.wire import eventually, frame, json_header
from rocketns import logs
from rocketns.fleet.comparing import FactKind
from rocketns.fleet.state import OWN, Disagreement, FleetState, Member, Side
from rocketns.logs import LogWriter
from tests.admin.conftest import Managed
from tests.behaviour.calls import put_kv
from tests.support.certificates import Files, authority
from tests.support.slowdisk import SlowDisk
from tests.support.tlsclient import TlsClient
from tests.support.tlsfiles import tls_properties
from tests.timed.steps import SECOND

pytestmark = pytest.mark.usefixtures("no_old_numbers")


class SlowToStart(Managed):
    """Its start takes three seconds."""

    async def _start(self) -> None:
        self.clock.advance(3 * SECOND)
        await super()._start()


class NotRead(logging.Handler):
    """A log whose reader reads nothing until `is_read` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.is_read = threading.Event()

    def emit(self, _: logging.LogRecord) -> None:
        assert self.is_read.wait(60)


def test_the_start_is_shown_with_its_length(tmp_path: Path) -> None:
    managed = SlowToStart(tmp_path)
    seen = managed.scrape()
    managed.stop()
    assert seen("rocketns_start_duration_seconds") == 3


def test_a_change_that_waits_for_the_disk_is_shown(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SlowDisk(monkeypatch)
    with managed.connect() as client:
        fields = {"namespace": "ns", "key": "k", "value": "v"}
        client.send(frame(json_header(codes.PUT_KV_CONFIG, fields)))
        disk.wait_for_write()
        assert managed.scrape()("rocketns_queue_length", queue="files") == 1
        disk.go_on()
        assert client.receive().code == codes.SUCCESS
    assert managed.scrape()("rocketns_queue_length", queue="files") == 0


def test_log_lines_that_nobody_reads_are_shown_and_those_that_are_dropped_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "WAITING_RECORDS_MAX", 2)
    handler = NotRead()
    writer = LogWriter(handler)
    line = logging.LogRecord("rocketns", logging.INFO, "", 0, "a line", None, None)
    writer.put(line)
    eventually(lambda: not writer.waiting)  # it is being written
    for _ in range(5):
        writer.put(line)
    managed = Managed(tmp_path, log=writer)
    seen = managed.scrape()
    managed.stop()
    handler.is_read.set()
    writer.stop()
    assert [seen("rocketns_log_dropped_records_total"), seen("rocketns_queue_length", queue="log")] == [3, 2]


def test_records_that_a_full_journal_loses_are_counted(start_managed: Callable[..., Managed], tmp_path: Path) -> None:
    (tmp_path / "j").write_text("a file where a folder should be", "utf-8")
    managed = start_managed({"journalPath": tmp_path / "j", "journalBufferBytes": 65_536})
    with managed.connect() as client:
        for number in range(100):
            put_kv(client, "namespace", f"key {number}", "v" * 1_000)
    assert (managed.scrape()("rocketns_journal_dropped_records_total") or 0) > 30


def test_tls_files_that_cannot_be_used_are_counted(start_managed: Callable[..., Managed], tmp_path: Path) -> None:
    files = Files.write(tmp_path / "tls", authority("tests").issue("first"))
    managed = start_managed(dict(tls_properties(files)))
    with TlsClient(managed.port) as client:
        client.request(codes.GET_BROKER_CLUSTER_INFO)
    assert managed.scrape()("rocketns_tls_reload_failures_total") == 0
    for file in (files.certificate, files.key):
        file.write_text("no certificate", "utf-8")
    managed.call(managed.controller.tls.check_files)
    eventually(lambda: managed.scrape()("rocketns_tls_reload_failures_total") == 1)


def test_the_fleet_is_counted_by_who_can_be_read_and_by_what_differs(managed: Managed) -> None:
    """`interop/operating` has real name servers that disagree."""
    here = Member(OWN, "rocketns", "", 1_000, 9_000, 2, 7)
    other = Member("10.0.0.2:9876", "other", "", 2_000, 9_000, 1, 7, differing_brokers=1)
    dead = Member("10.0.0.3:9876", "", "connecting to 10.0.0.3:9876 failed", 3_000, None, None, None)
    sides = (Side("0=10.1.0.2:10911", (OWN,)), Side("missing", ("10.0.0.2:9876",)))
    managed.controller.fleet.state = FleetState(
        9_000, (here, other, dead), (Disagreement(FactKind.BROKER, "b", 5, sides),)
    )
    seen = managed.scrape()
    assert [seen("rocketns_fleet_name_servers", state=state) for state in ("readable", "unreadable")] == [2, 1]
    assert [seen("rocketns_fleet_disagreements", kind=kind) for kind in ("broker", "topic")] == [1, 0]
