"""A scene for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.shadow.relay.scene import Scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.close()
