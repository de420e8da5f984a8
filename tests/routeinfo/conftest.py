"""The manager under test."""

from __future__ import annotations

import pytest

from tests.routeinfo.manager import Manager


@pytest.fixture
def manager() -> Manager:
    return Manager()
