"""A name server's state without sockets, and the Hypothesis profile."""

from __future__ import annotations

from pathlib import Path

import pytest

import tests.support.profile  # noqa: F401
from tests.processor.asking import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
