"""Who may ask for a drain, by ``rocketns.adminDrainFrom``: addresses of IPv4 and of IPv6."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rocketns.admin.probes import _may_drain
from rocketns.config import AdminConfig

NETWORKS = "10.0.0.0/8;2001:db8::/48;fe80::/10"


@pytest.mark.parametrize(
    ("remote", "may"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("10.1.2.3", True),
        ("11.1.2.3", False),
        ("2001:db8::7", True),
        ("2001:db8:1::7", False),
        ("fe80::1%eth0", True),
        # A socket for both families shows IPv4 peers in this form.
        ("::ffff:127.0.0.1", True),
        ("::ffff:10.1.2.3", True),
        ("::ffff:11.1.2.3", False),
        ("", False),
    ],
)
def test_only_these_networks_and_the_machine_itself_may(remote: str, may: bool) -> None:
    config = AdminConfig()
    config.update({"rocketns.adminDrainFrom": NETWORKS})
    request: Any = SimpleNamespace(headers={}, url=SimpleNamespace(host="2001:db8::1"), remote=remote)
    assert _may_drain(config, request) is may
