"""A wheel for the stable ABI, made from the sdist, works in a clean environment where there is no compiler."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from interop.harness import codes
from rocketns import __version__
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.check.source import ROOT
from tests.installing.building import BUILD_TIMEOUT_S, build, clean_environment, run, server_of, without_compiler

pytestmark = pytest.mark.timeout(BUILD_TIMEOUT_S)


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    [source] = folder.iterdir()
    return build("wheel", source, tmp_path_factory.mktemp("wheel"), ROCKETNS_STABLE_ABI="1")


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pip finds no compiler, and takes wheels of everything else too."""
    folder = tmp_path_factory.mktemp("clean")
    found = clean_environment(folder / "venv")
    run(found / "pip", "install", "-q", "--only-binary", ":all:", wheel, **without_compiler(folder / "empty"))
    return found


def test_its_name_says_every_cpython_since_311(wheel: Path) -> None:
    assert wheel.name.startswith(f"rocketns-{__version__}-cp311-abi3-linux_")


def test_it_has_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {name for name in names if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in package} == {"rocketns"}
    sources = [path.relative_to(ROOT) for path in (ROOT / "rocketns").rglob("*.py*") if "__pycache__" not in path.parts]
    assert package == {path.as_posix() for path in sources if path.suffix != ".pyc"} | compiled() | others()
    for name in ("LICENSE", "NOTICE"):
        assert f"rocketns-{__version__}.dist-info/licenses/{name}" in names


def compiled() -> set[str]:
    sources = (ROOT / "rocketns").rglob("*.pyx")
    return {path.relative_to(ROOT).with_suffix(".abi3.so").as_posix() for path in sources}


def others() -> set[str]:
    folders = [ROOT / "rocketns/pipeline/report/templates"]
    found = {path for folder in folders for path in folder.iterdir()} | set((ROOT / "rocketns").rglob("*.pxd"))
    return {path.relative_to(ROOT).as_posix() for path in found} | {"rocketns/py.typed"}


def test_both_commands_say_the_version(programs: Path) -> None:
    for name in ("rocketns", "mqnamesrv"):
        assert run(programs / name, "--version") == f"rocketns {__version__}\n"


def test_the_installed_server_answers(programs: Path, tmp_path: Path, names: Names) -> None:
    server = server_of(programs)(tmp_path / "ns")
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
