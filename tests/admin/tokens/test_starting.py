"""What the log says at the start about tokens that are less safe than they seem."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.admin.conftest import Managed

PLAIN = "tokens cross the network unencrypted"


@pytest.mark.parametrize(
    ("properties", "warns"),
    [({"rocketns.adminAddress": "0.0.0.0"}, True), ({}, False),
     ({"rocketns.adminAddress": "0.0.0.0", "rocketns.adminTls": "true"}, False)],
    ids=["everywhere", "here", "everywhere with TLS"],
)  # fmt: skip
def test_tokens_without_tls_on_a_network_are_named(
    start_managed: Callable[..., Managed], tokens_file: Path, caplog: pytest.LogCaptureFixture,
    properties: dict[str, object], *, warns: bool,
) -> None:  # fmt: skip
    start_managed(properties | {"rocketns.adminTokensFile": tokens_file})
    assert (PLAIN in caplog.text) is warns
