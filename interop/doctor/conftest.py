"""A site for each test; left out with the reason where this machine has no network namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.doctor.network import why_no_network
from interop.doctor.site import Site, opened
from tests.support.needs import not_run


@pytest.fixture(scope="session")
def _networks() -> None:
    """Machines can be made here."""
    if reason := why_no_network():
        not_run(f"no network of machines is made: {reason}")


@pytest.fixture
def site(_networks: None, tmp_path: Path) -> Iterator[Site]:
    with opened(tmp_path) as one:
        yield one
