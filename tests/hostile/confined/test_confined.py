"""The server lives a whole life under the image's seccomp profile, and under the service unit's filter."""

from __future__ import annotations

import ctypes
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from interop.harness.servers import RocketnsServer
from tests.check.source import ROOT
from tests.hostile.confined import forbidden, launching, profiles
from tests.hostile.confined.whole_life import live

LAUNCHER = str(Path(launching.__file__).resolve())


def is_there() -> bool:
    try:
        ctypes.CDLL(launching.LIBRARY)
    except OSError:
        return False
    return True


pytestmark = pytest.mark.skipif(not is_there(), reason=f"{launching.LIBRARY} is not installed (Debian: libseccomp2)")
by_systemd = pytest.mark.skipif(profiles.ANALYZE is None, reason="systemd-analyze is not installed")
FILTERS = [
    pytest.param(profiles.of_the_image, id="image"),
    pytest.param(profiles.of_the_unit, id="unit", marks=by_systemd),
]


class ConfinedServer(RocketnsServer):
    """Killed by the first call that ``profile`` does not allow."""

    profile: ClassVar[Path] = profiles.IMAGE

    @classmethod
    def program(cls, options: Sequence[str] = ()) -> list[str]:
        return [sys.executable, LAUNCHER, str(cls.profile), *super().program(options)]


@pytest.fixture
def profile(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(request.param()), "utf-8")
    return path


@pytest.mark.parametrize("profile", FILTERS, indirect=True)
def test_the_server_needs_no_other_call(profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConfinedServer, "profile", profile)
    live(tmp_path, ConfinedServer)


@pytest.mark.parametrize("profile", FILTERS, indirect=True)
def test_whoever_takes_it_over_gets_no_more(profile: Path) -> None:
    command = [sys.executable, "-m", "tests.hostile.confined.forbidden", str(profile)]
    tried = json.loads(subprocess.run(command, cwd=ROOT, check=True, timeout=60, capture_output=True).stdout)
    assert tried == dict.fromkeys(forbidden.CALLS, -signal.SIGSYS) | {forbidden.NOTHING: 0}
