"""The manager under test, and the Hypothesis profile."""

from __future__ import annotations

import pytest

import tests.support.profile  # noqa: F401
from tests.routeinfo.manager import Manager


@pytest.fixture
def manager() -> Manager:
    return Manager()
