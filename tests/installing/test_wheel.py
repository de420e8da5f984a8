"""A wheel works in a clean environment where there is no compiler."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from interop.harness import codes
from rocketns import __version__
from rocketns.__main__ import AUDIT, COLLECT, DOCTOR, REPLAY, SHADOW, SWITCH, TOOLS
from rocketns.tools.arguments import SHELLS
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.check.source import ROOT
from tests.installing.building import BUILD_TIMEOUT_S, build, clean_environment, install, run, server_of

DIST = os.environ.get("ROCKETNS_DIST", "")
MINORS = (11, 12, 13, 14)
COMMANDS = (AUDIT, COLLECT, DOCTOR, SHADOW, SWITCH, REPLAY)
pytestmark = pytest.mark.timeout(BUILD_TIMEOUT_S)


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published wheel for this machine, from the folder in ROCKETNS_DIST; otherwise one made from the sdist.

    Compiling takes two minutes, so the latter gets the modules that `make build` has compiled from the same sources.
    """
    if DIST:
        [published] = Path(DIST).glob(f"rocketns-*_{platform.machine()}.whl")
        return published
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    [source] = folder.iterdir()
    shutil.copytree(ROOT / "build" / "cython", source / "build" / "cython")
    name = f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
    for module in (ROOT / "rocketns").rglob("*.so"):
        place = source / "build" / name / module.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(module, place)
    return build("wheel", source, tmp_path_factory.mktemp("wheel"), CC="false")


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pip has no compiler, and must use wheels for the dependencies too."""
    folder = tmp_path_factory.mktemp("clean")
    found = clean_environment(folder / "venv")
    install(found, wheel, folder / "empty")
    return found


@pytest.mark.skipif(not DIST, reason="ROCKETNS_DIST does not name a folder that `make wheels` wrote (10 minutes)")
def test_the_published_wheel_is_for_every_cpython_and_old_systems(wheel: Path) -> None:
    assert wheel.name.startswith(f"rocketns-{__version__}-cp311-abi3-manylinux")


@pytest.mark.skipif(not DIST, reason="ROCKETNS_DIST does not name a folder that `make wheels` wrote (10 minutes)")
@pytest.mark.parametrize("minor", MINORS)
def test_the_published_wheel_works_with_every_python(wheel: Path, minor: int, tmp_path: Path) -> None:
    python = shutil.which(f"python3.{minor}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"python3.{minor} is not installed")
    found = clean_environment(tmp_path / "venv", python)
    install(found, wheel, tmp_path / "empty")
    look_up(found, tmp_path)


def test_it_has_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        # auditwheel lists folders, too.
        names = {name for name in archive.namelist() if not name.endswith("/")}
    package = {name for name in names if ".dist-info/" not in name and ".data/" not in name}
    assert {name.partition("/")[0] for name in package} == {"rocketns"}
    sources = [path.relative_to(ROOT) for path in (ROOT / "rocketns").rglob("*.py*") if "__pycache__" not in path.parts]
    assert package == {path.as_posix() for path in sources if path.suffix != ".pyc"} | compiled() | others()
    for name in ("LICENSE", "NOTICE"):
        assert f"rocketns-{__version__}.dist-info/licenses/{name}" in names


def test_it_has_a_manual_page_for_each_program(wheel: Path) -> None:
    """pip puts them where `man` looks: share/man of the environment."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".data/" in name and not name.endswith("/")}
    programs = {"rocketns", "mqnamesrv", *(f"rocketns-{word}" for word in (*TOOLS, *COMMANDS))}
    assert names == {f"rocketns-{__version__}.data/data/share/man/man1/{name}.1" for name in programs}


def compiled() -> set[str]:
    suffix = ".abi3.so" if DIST else str(sysconfig.get_config_var("EXT_SUFFIX"))
    sources = [path.relative_to(ROOT) for path in (ROOT / "rocketns").rglob("*.pyx")]
    # Cython writes this one for the others.
    return {path.with_suffix(suffix).as_posix() for path in (*sources, Path("rocketns/_fast/system/memory_views.c"))}


def others() -> set[str]:
    shown = ["pipeline/report/templates", "admin/page/static", "shadow/status/static"]
    folders = [ROOT / "rocketns" / folder for folder in shown]
    found = {path for folder in folders for path in folder.iterdir()} | set((ROOT / "rocketns").rglob("*.pxd"))
    made = {f"rocketns/tools/completions/rocketns.{shell}" for shell in SHELLS}
    catalogues = [path.relative_to(ROOT) for path in (ROOT / "rocketns").rglob("*.po")]
    made |= {path.with_suffix(".mo").as_posix() for path in catalogues}
    made |= {path.with_suffix(".json").as_posix() for path in catalogues if path.stem == "page"}  # for its scripts
    return {path.relative_to(ROOT).as_posix() for path in found} | made | {"rocketns/py.typed"}


def test_both_commands_say_the_version(programs: Path) -> None:
    for name in ("rocketns", "mqnamesrv"):
        assert run(programs / name, "--version") == f"rocketns {__version__}\n"


def test_the_installed_server_answers(programs: Path, tmp_path: Path) -> None:
    look_up(programs, tmp_path)


def look_up(programs: Path, tmp_path: Path) -> None:
    names, server = Names(), server_of(programs)(tmp_path / "ns")
    try:
        with server.connect() as broker:
            registered(broker, names)
            answer = broker.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": names.topic()})
            assert answer.code == codes.SUCCESS
    finally:
        server.stop()


def test_the_audit_names_the_extra_that_it_lacks(programs: Path) -> None:
    """The extra `spark` is not part of a plain installation."""
    with pytest.raises(AssertionError, match=r"rocketns\[spark\]"):
        run(programs / "rocketns", "audit", "demo")
