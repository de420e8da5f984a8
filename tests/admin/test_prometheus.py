"""A real Prometheus scrapes a real server: alert rules, and every query of the dashboard."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import partial

import pytest

from interop.harness.ports import free_port
from interop.harness.servers import RocketnsServer
from interop.harness.wire import eventually
from tests.admin.prometheus import Prometheus
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import ask_route
from tests.check.source import ROOT

RULE_TESTS = ROOT / "packaging" / "prometheus" / "rocketns.rules.test.yml"
pytestmark = [pytest.mark.slow, pytest.mark.needs("prometheus")]
DASHBOARD = ROOT / "packaging" / "grafana" / "rocketns.json"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """It has scraped a server with a broker, lookups and a journal several times."""
    home, port = tmp_path_factory.mktemp("prometheus"), free_port()
    server = RocketnsServer(home / "ns", {"rocketns.adminPort": port, "journalPath": home / "journal"})
    started = Prometheus(home / "prometheus", port)
    names = Names()
    try:
        with server.connect() as client:
            registered(client, names)

            def is_seen() -> bool:
                registered(client, names)
                for _ in range(20):
                    ask_route(client, names.topic("T"))
                return bool(started.query("count_over_time(rocketns_ready[5s]) > 5"))

            eventually(is_seen, within_s=100, every_s=0.2)
            yield started
    finally:
        started.stop()
        server.stop()


def queries() -> list[str]:
    """All expressions of the dashboard, with a short range in place of the one that the viewer chooses."""
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    expressions = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    return [one.replace("$__rate_interval", "10s").replace("$instance", ".*") for one in expressions]


def test_no_query_of_the_dashboard_is_empty(prometheus: Prometheus) -> None:
    assert len(queries()) > 20
    for one in queries():
        eventually(partial(prometheus.query, one))


def test_a_healthy_server_raises_no_alarm(prometheus: Prometheus) -> None:
    eventually(lambda: prometheus.query("ALERTS") == [])


def test_the_rules_pass_their_tests() -> None:
    said = subprocess.run(
        ["promtool", "test", "rules", RULE_TESTS.name], cwd=RULE_TESTS.parent, capture_output=True, timeout=120,
        check=False, text=True,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout + said.stderr
