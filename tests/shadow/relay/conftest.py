"""A scene for each test. No connection takes too long to open: a busy machine is no slow server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rocketns.shadow.relay import relay
from tests.shadow.relay.scene import WITHIN_S, Scene


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UPSTREAM_WITHIN_S", "OWN_WITHIN_S"):
        monkeypatch.setattr(relay, name, WITHIN_S)


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.close()
