"""What a scrape shows about the process, its start, its journal and the management port."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

import pytest

import rocketns
from interop.harness import codes
from interop.harness.wire import eventually
from tests.admin.conftest import Managed
from tests.behaviour.calls import put_kv, update_settings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register, registered, unregister
from tests.behaviour.views import group
from tests.timed.steps import SECOND, pass_time

STALL_S = 300


pytestmark = pytest.mark.usefixtures("no_old_numbers")


def test_the_build_and_the_reactors_are_shown(managed: Managed) -> None:
    seen = managed.scrape()
    build = {"version": rocketns.__version__, "python": platform.python_version(), "machine": platform.machine()}
    assert seen("rocketns_build_info", **build) == 1
    assert managed.reactors is not None
    assert seen("rocketns_reactors", state="started") == len(managed.reactors.carried())


def test_a_drain_is_shown(managed: Managed) -> None:
    before = managed.scrape()
    assert (before("rocketns_ready"), before("rocketns_draining")) == (1, 0)
    assert managed.http.ask("/drainz", "POST", {"X-Rocketns-Change": "yes"}).status == 200
    seen = managed.scrape()
    assert (seen("rocketns_ready"), seen("rocketns_draining")) == (0, 1)


def test_a_stall_is_counted_with_its_length(managed: Managed, names: Names) -> None:
    """One that nobody waited for is none."""
    with managed.connect() as broker:
        registered(broker, names)
        managed.advance(SECOND)
        managed.advance(STALL_S * SECOND)
        seen = managed.scrape()
    assert (seen("rocketns_stalls_total"), seen("rocketns_stalled_seconds_total")) == (1, STALL_S)


def test_a_changed_property_is_counted(managed: Managed) -> None:
    with managed.connect() as client:
        assert update_settings(client, "enableTopicList=false\n").code == codes.SUCCESS
    assert managed.scrape()("rocketns_config_changes_total") == 1


def test_the_bytes_of_the_kv_table_are_those_that_its_limit_counts(managed: Managed) -> None:
    with managed.connect() as client:
        put_kv(client, "namespace", "key", "value" * 100)
    kept = managed.controller.core.context.kv_config.bytes
    assert managed.scrape()("rocketns_kv_bytes") == kept > 500


def test_a_repeated_body_is_counted(managed: Managed, names: Names) -> None:
    with managed.connect() as client:
        for _ in range(3):
            registered(client, names, version={"counter": 1, "stateVersion": 0, "timestamp": 5})
    assert managed.scrape()("rocketns_registrations_repeated_total") == 2


def test_a_group_whose_smallest_id_changes_is_counted(managed: Managed, names: Names) -> None:
    with managed.connect() as master, managed.connect() as slave:
        registered(slave, names, host=2, brokerId=1, enableActingMaster="true")
        registered(master, names, enableActingMaster="true")
        before = managed.scrape()("rocketns_min_broker_id_changes_total") or 0
        unregister(master, names)
        eventually(lambda: (members := group(master, names.broker)) and list(members["brokerAddrs"]) == ["1"])
        assert (managed.scrape()("rocketns_min_broker_id_changes_total") or 0) - before == 1


def test_lookups_that_reactors_leave_to_control_are_counted(managed: Managed) -> None:
    """A topic with characters that need escaping."""
    with managed.connect() as client:
        assert client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": 'a"b\\'}).code == codes.TOPIC_NOT_EXIST
    assert managed.scrape()("rocketns_lookups_handed_over_total") == 1


def test_brokers_that_would_expire_together_are_counted_as_doubted(start_managed: Callable[..., Managed]) -> None:
    managed = start_managed({"rocketns.massExpiryPercent": 50, "rocketns.askUnconfirmed": "false"})
    with managed.connect() as first, managed.connect() as second:
        for number, client in enumerate((first, second)):
            registered(client, Names(), heartbeatTimeoutMillis=20 * SECOND, host=number + 1)
        pass_time(managed, 40 * SECOND)
        seen = managed.scrape()
    assert (seen("rocketns_brokers_doubted_total"), seen("rocketns_brokers", state="unconfirmed")) == (2, 2)


def test_a_journal_that_cannot_be_written_is_shown(
    start_managed: Callable[..., Managed], names: Names, tmp_path: Path
) -> None:
    (tmp_path / "j").write_text("a file where a folder should be", "utf-8")
    managed = start_managed({"journalPath": tmp_path / "j" / "deeper", "journalNs": "n"})
    with managed.connect() as client:
        registered(client, names)
        eventually(lambda: managed.scrape()("rocketns_journal_failing") == 1)
    seen = managed.scrape()
    assert (seen("rocketns_journal_write_failures_total") or 0) >= 1
    assert (seen("rocketns_journal_waiting_bytes") or 0) > 0


def test_restored_brokers_are_shown(start_managed: Callable[..., Managed], names: Names, tmp_path: Path) -> None:
    journal = {"journalPath": tmp_path / "j", "journalNs": "n", "rocketns.askUnconfirmed": "false"}
    before = Managed(tmp_path, journal)
    with before.connect() as client:
        registered(client, names)
        before.stop()
    seen = start_managed(journal).scrape()
    assert seen("rocketns_restored_brokers") == 1


def test_connections_of_the_management_port_are_counted(managed: Managed) -> None:
    assert managed.scrape()("rocketns_admin_connections") == 1


def test_full_tables_are_counted(start_managed: Callable[..., Managed], names: Names) -> None:
    """The routes that they hold, and the registrations that they refuse."""
    managed = start_managed({"rocketns.routesMax": 2})
    with managed.connect() as client:
        registered(client, names)
        for _ in range(3):
            assert register(client, Names()).code == codes.SYSTEM_ERROR
        seen = managed.scrape()
    assert (seen("rocketns_routes_held"), seen("rocketns_tables_full_total")) == (2, 3)
