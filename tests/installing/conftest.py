"""The sdist and the wheel that the tests of this folder share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.installing.building import build, copy_tracked


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", copy_tracked(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("sdist"))
