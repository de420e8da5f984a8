"""A name server's state without sockets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processor.asking import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
