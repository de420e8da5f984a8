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

from interop.harness.servers import ReactorServer
from tests.hostile.confined import launching, profiles
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


class ConfinedServer(ReactorServer):
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


FORBIDDEN = {
    "another family of sockets": "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "a traced process": "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)",
    "a namespace": "import ctypes; ctypes.CDLL(None).unshare(0x10000000)",
    "a mount": "import ctypes; ctypes.CDLL(None).mount(None, b'/', None, 0, None)",
    "memory to write and execute": "import mmap; mmap.mmap(-1, 4096, prot=7)",
    "another owner of a file": "import os; os.chown('/tmp', 0, 0)",
    "locked memory": "import ctypes; ctypes.CDLL(None).mlock(None, 0)",
}


@pytest.mark.parametrize("what", FORBIDDEN)
@pytest.mark.parametrize("profile", FILTERS, indirect=True)
def test_whoever_takes_it_over_gets_no_more(profile: Path, what: str) -> None:
    command = [sys.executable, LAUNCHER, str(profile), sys.executable, "-c", FORBIDDEN[what]]
    assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGSYS
