"""Alerts as Prometheus' Alertmanager gets them; and with the real one where it is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from interop.harness.ports import free_port
from interop.harness.wire import eventually
from rocketns.pipeline.contract.alert import Alert
from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.storage.alertmanager import REPEAT_S, Alertmanager
from rocketns.pipeline.stream.changes import Condition, changes
from tests.pipeline.storage.test_alertlog import receiver

S = 1_000_000
NAMES = ("prometheus-alertmanager", "alertmanager")


def partition(key: str = "k") -> Condition:
    return Condition("partition", key, 5 * S, "n2 does not hear broker-b", {"ns": "n2"})


class Shown:
    """An Alertmanager behind a clock that the test moves, and the alerts that are open."""

    def __init__(self, url: str) -> None:
        self.seconds = 0.0
        self.said: list[str] = []
        self.manager = Alertmanager(url, self.said.append, lambda: self.seconds)
        self.open: list[Alert] = []

    def batch(self, cut_s: int, *conditions: Condition) -> bool:
        found = changes(self.open, conditions, {}, cut_s * S)
        self.open = found.open
        return self.manager.show(found.lines, found.open)


def test_an_alert_is_sent_when_it_opens_every_minute_and_when_it_closes() -> None:
    with receiver() as server:
        shown = Shown(server.url)
        assert shown.batch(10, partition())
        assert shown.batch(20, partition())
        shown.seconds = REPEAT_S
        assert shown.batch(30, partition())
        assert shown.batch(40)
    opened, repeated, closed = server.bodies
    assert opened == repeated
    assert opened[0]["startsAt"] == closed[0]["startsAt"] == "1970-01-01T00:00:05.000Z"
    assert opened[0]["labels"] == closed[0]["labels"]
    assert opened[0]["labels"]["alertname"] == "rocketns_partition"
    assert ("endsAt" in opened[0], closed[0]["endsAt"]) == (False, "1970-01-01T00:00:40.000Z")


def test_unsent_alerts_are_sent_with_the_next_batch() -> None:
    with receiver(503) as server:
        shown = Shown(server.url)
        assert not shown.batch(10, partition())
        assert shown.batch(20, partition())
    assert server.bodies[0] == server.bodies[1]
    assert shown.said[0].startswith("alertmanager: 1 alerts were not delivered to ")


def test_another_kind_of_address_is_refused() -> None:
    with pytest.raises(BadInput, match="--alertmanager: the address must begin"):
        Alertmanager("ftp://x", print)


@pytest.mark.skipif(not any(map(shutil.which, NAMES)), reason="no Alertmanager on the PATH")
def test_the_real_alertmanager_shows_an_open_alert_and_resolves_a_closed_one(tmp_path: Path) -> None:
    program = next(filter(None, map(shutil.which, NAMES)))
    config = tmp_path / "config.yml"
    config.write_text("route:\n  receiver: none\nreceivers:\n  - name: none\n", "utf-8")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    words = [f"--config.file={config}", f"--storage.path={tmp_path}", f"--web.listen-address=127.0.0.1:{port}"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([program, *words, "--cluster.listen-address="], stdout=log, stderr=log)
    try:
        shown = Shown(url)
        eventually(lambda: shown.batch(10, partition()))
        (alert,) = _alerts(url)
        assert (alert["labels"]["kind"], alert["annotations"]["summary"]) == ("partition", "n2 does not hear broker-b")
        assert alert["status"]["state"] == "active"
        assert shown.batch(20)
        eventually(lambda: _alerts(url) == [])
    finally:
        process.terminate()
        process.wait(20)


def _alerts(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{url}/api/v2/alerts", timeout=5) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found
