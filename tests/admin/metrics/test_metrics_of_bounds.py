"""What a scrape shows of registrations beyond the bounds of their principal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness import codes
from tests.admin.conftest import Managed
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register

pytestmark = pytest.mark.usefixtures("no_old_numbers")
POLICY = """
[modes]
broker = "{mode}"

[principals.here]
networks = ["127.0.0.0/8"]
may = ["broker"]
brokers_max = 1
"""


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_registrations_beyond_the_bounds_of_a_principal_are_counted_by_mode(
    start_managed: Callable[..., Managed], tmp_path: Path, names: Names, mode: str
) -> None:
    file = tmp_path / "access.toml"
    file.write_text(POLICY.format(mode=mode), "utf-8")
    managed = start_managed({"rocketns.accessFile": file})
    with managed.connect() as client:
        assert register(client, names).code == codes.SUCCESS
        answer = register(client, names, host=2, broker_id=1)
        assert answer.code == (codes.SYSTEM_BUSY if mode == "enforce" else codes.SUCCESS)
        assert register(client, names).code == codes.SUCCESS
    seen = managed.scrape()
    assert seen("rocketns_beyond_bounds_total", mode=mode) == 1
    assert seen("rocketns_beyond_bounds_total", mode="observe" if mode == "enforce" else "enforce") == 0
