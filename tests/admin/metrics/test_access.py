"""Decisions of access control in the metrics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.access.signing import signed
from tests.admin.conftest import Managed

POLICY = """
[modes]
admin = "enforce"
read = "observe"
[keys.rocketmq]
secret = "12345678"
[principals.operators]
keys = ["rocketmq"]
may = ["admin"]
"""

pytestmark = pytest.mark.usefixtures("no_old_numbers")


def test_decisions_are_counted_by_class_mode_reason_and_known_key(
    start_managed: Callable[..., Managed], tmp_path: Path
) -> None:
    (tmp_path / "access.toml").write_text(POLICY, "utf-8")
    managed = start_managed({"rocketns.accessFile": tmp_path / "access.toml"})
    with managed.connect() as client:
        client.request(205, signed({"brokerName": "b"}))
        client.request(205, {"brokerName": "b"})
        for key in ("a", "b"):
            client.request(205, signed({"brokerName": "b"}, key=key))
        client.request(106)
    seen = managed.scrape()

    assert seen("rocketns_access_decisions_total", **decided("admin", "enforce", "", "rocketmq")) == 1
    assert seen("rocketns_access_decisions_total", **decided("admin", "enforce", "no_evidence", "")) == 1
    assert seen("rocketns_access_decisions_total", **decided("admin", "enforce", "unknown_key", "unknown")) == 2
    assert seen("rocketns_access_decisions_total", **decided("read", "observe", "no_evidence", "")) == 1


def decided(access: str, mode: str, reason: str, key: str) -> dict[str, str]:
    """The labels of a decision."""
    return {"class": access, "mode": mode, "reason": reason, "key": key}
