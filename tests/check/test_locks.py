"""What the image installs is what pyproject.toml names, each file by its hash."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.check import locks

HINT = "Next step: make locks"


@pytest.mark.parametrize("path", locks.wanted(), ids=lambda path: path.name)
def test_lock_follows_pyproject(path: Path) -> None:
    pins = locks.pins(path)
    wanted = {canonicalize_name(one.name): one for one in locks.wanted()[path]}
    for name, requirement in wanted.items():
        assert name in pins, f"{requirement} is not pinned. {HINT}"
        assert pins[name].version in requirement.specifier, f"{requirement} does not allow {pins[name].version}. {HINT}"
    needless = {name for name, pin in pins.items() if not pin.needed_by} - set(wanted)
    assert not needless, f"pinned, but needed by nothing: {needless}. {HINT}"


@pytest.mark.parametrize("path", locks.wanted(), ids=lambda path: path.name)
def test_every_pin_has_hashes(path: Path) -> None:
    for name, pin in locks.pins(path).items():
        assert pin.hashes, f"{name} has no hash. {HINT}"
        assert all(one.startswith("sha256:") for one in pin.hashes), f"{name}: {pin.hashes}. {HINT}"
