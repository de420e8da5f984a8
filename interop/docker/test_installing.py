"""In fresh Debians: the published wheel, the Debian package, and README.md's words about installing.

`make installed` runs these tests. They compile and download for minutes, so conftest.py leaves them out elsewhere.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.docker.base import IN_DEVELOPMENT, base
from interop.docker.engine import Engine, NoEngine
from interop.docker.images import HOST_NETWORK, ROOT
from rocketns import __version__
from tests.installing.test_packages import copy_tracked
from tests.support.needs import not_run

DIST = os.environ.get("ROCKETNS_DIST", "")
# Debian's releases and the CPython that each has.
RELEASED = {"bookworm": "3.11", "trixie": "3.13"}
PYTHONS = {**RELEASED, IN_DEVELOPMENT: "3.14"}
SCRIPTS = Path(__file__).parent / "installing"
TIMEOUT_S = 1800.0

pytestmark = pytest.mark.timeout(int(TIMEOUT_S) + 300)
every_python = pytest.mark.parametrize("release", PYTHONS)
Run = Callable[..., str]


@pytest.fixture
def wheel() -> Path:
    [published] = Path(DIST).resolve().glob(f"rocketns-*_{platform.machine()}.whl")
    return published


@pytest.fixture
def run(engine: Engine, release: str) -> Run:
    """Run a script in a fresh container, with folders of this machine at the same paths; its standard output."""
    try:
        image = base(engine, release)
    except NoEngine as reason:
        not_run(f"no container is run: {reason}")

    def one(script: str, *arguments: object, read: tuple[Path, ...] = (), write: tuple[Path, ...] = ()) -> str:
        mounts = [f"--volume={path}:{path}:ro" for path in (SCRIPTS, *read)]
        mounts += [f"--volume={path}:{path}" for path in write]
        command = ["run", "--rm", HOST_NETWORK, *mounts, image, "sh", SCRIPTS / script, *arguments]
        return engine.docker(*map(str, command), timeout_s=TIMEOUT_S)

    return one


@every_python
def test_wheel_needs_no_compiler_and_the_audit_a_java_runtime(run: Run, wheel: Path, release: str) -> None:
    said = run("wheel.sh", wheel, read=(wheel.parent,))
    assert said.startswith(f"Python {PYTHONS[release]}.")
    assert f"rocketns {__version__}\n" in said
    assert "127.0.0.1:9876 is ready" in said
    assert said.endswith("the demo found every fault\n")


@pytest.fixture
def package(run: Run, wheel: Path, tmp_path: Path) -> Path:
    run("deb-build.sh", ROOT, wheel, tmp_path, read=(ROOT, wheel.parent), write=(tmp_path,))
    [made] = tmp_path.glob("rocketns_*.deb")
    return made


@pytest.mark.parametrize("release", RELEASED)
def test_debian_package_is_installed_used_and_removed(run: Run, package: Path) -> None:
    said = run("deb-use.sh", package, read=(package.parent,))
    assert f"rocketns {__version__}\n" in said
    assert "127.0.0.1:9876 is ready" in said
    assert said.endswith("removed and purged\n")


def said_by_the_readme(pattern: str) -> str:
    """The command in README.md that has this form."""
    [found] = re.findall(pattern, (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    return str(found)


@every_python
def test_readme_is_right_about_a_checkout(run: Run, tmp_path: Path) -> None:
    """Its packages are enough, its first command starts the server, which prints the boot line; and `pip install .`."""
    packages = said_by_the_readme(r"On Debian: `apt-get install ([^`]+)`")
    commands = said_by_the_readme(r"^    (make run) +#"), said_by_the_readme(r"`(pip install \.)`")
    boot_line = said_by_the_readme(r"ready when it prints `([^`]+)`")
    source = copy_tracked(tmp_path / "checkout")
    said = run("checkout.sh", source, packages, *commands, read=(source,))
    assert said.splitlines()[-3:] == [boot_line, *[f"rocketns {__version__}"] * 2]
