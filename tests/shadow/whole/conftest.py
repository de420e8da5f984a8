"""The name server behind a shadow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness.servers import NameServer, RocketnsServer


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[NameServer]:
    started = RocketnsServer(tmp_path / "upstream")
    yield started
    started.kill()
