"""The sdist and the wheel: what is in them, and that the wheel works where there is no compiler."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.servers import RocketnsServer
from rocketns import __version__
from rocketns.__main__ import PROGRAMS, TOOLS
from rocketns.tools.arguments import SHELLS
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.check.source import ROOT

GENERATED = re.compile(r"PKG-INFO|setup\.cfg|rocketns\.egg-info/.*")
A_DAY_S = 86_400


def test_a_second_build_has_the_same_bytes(sdist: Path, tmp_path: Path) -> None:
    """In another folder, from newer files that only their owner may read."""
    source = copy_tracked(tmp_path / "elsewhere")
    for path in source.rglob("*.py"):
        status = path.stat()
        os.utime(path, (status.st_atime, status.st_mtime + A_DAY_S))
        path.chmod(0o600 | status.st_mode & 0o100)
    again = build("sdist", source, tmp_path / "out")
    assert again.name == sdist.name
    assert again.read_bytes() == sdist.read_bytes()


def test_it_has_what_git_tracks(sdist: Path) -> None:
    assert [name for name in names(sdist) if not GENERATED.fullmatch(name)] == tracked()


def test_nothing_in_it_says_who_built_it_when(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in archive} == {(0, 0, "", "", 315_532_800)}


def test_its_metadata_is_complete(sdist: Path) -> None:
    """What a package index and pip show. twine checks the README too."""
    run(sys.executable, "-m", "twine", "check", "--strict", sdist)
    run(sys.executable, "-m", "validate_pyproject", ROOT / "pyproject.toml")
    with tarfile.open(sdist) as archive:
        file = archive.extractfile(f"rocketns-{__version__}/PKG-INFO")
        assert file is not None
        metadata = Parser().parsestr(file.read().decode())
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert metadata["Requires-Python"] == ">=3.11"
    for name in ("Summary", "Keywords", "Description"):
        assert metadata[name] or metadata.get_payload(), name
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert not re.findall(r"\]\((?!https?:|mailto:)[^)]*\)", str(metadata.get_payload())), (
        "an index follows no relative link"
    )
    said = set(metadata.get_all("Classifier", []))
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)} <= said


def test_a_free_threaded_python_is_refused_with_the_reason(tmp_path: Path) -> None:
    """sysconfig is made to describe such a Python. The build is refused before anything is compiled."""
    setup = (
        "import runpy, sysconfig, sys\n"
        "known = sysconfig.get_config_var\n"
        "sysconfig.get_config_var = lambda name: 1 if name == 'Py_GIL_DISABLED' else known(name)\n"
        f"sys.argv = ['setup.py', 'build_ext', '--build-lib', {str(tmp_path)!r}]\n"
        f"runpy.run_path({str(ROOT / 'setup.py')!r}, run_name='__main__')\n"
    )
    result = subprocess.run([sys.executable, "-c", setup], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert "error: rocketns does not support free-threaded Python." in result.stderr
    assert list(tmp_path.iterdir()) == []


def names(sdist: Path) -> list[str]:
    with tarfile.open(sdist) as archive:
        return sorted(member.name.partition("/")[2] for member in archive)


BUILD_TIMEOUT_S = 560


def run(*command: str | Path, cwd: Path | None = None, timeout: float = BUILD_TIMEOUT_S, **env: str) -> str:
    """The output of a command; AssertionError with it if the command fails."""
    result = subprocess.run(
        [str(word) for word in command], cwd=cwd, timeout=timeout, check=False, text=True,
        env=os.environ | env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert result.returncode == 0, f"{command}\n{result.stdout[-6000:]}"
    return result.stdout


def tracked() -> list[str]:
    """The existing files that git tracks. Without git the tests that need them are skipped."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository: the content of an sdist is not known")
    names = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    return sorted(name for name in names if name and (ROOT / name).is_file())


def copy_tracked(folder: Path) -> Path:
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
        (folder / name).chmod((ROOT / name).stat().st_mode)
    return folder


def build(kind: str, source: Path, out: Path, **env: str) -> Path:
    """``python -m build`` with the packages of this environment; kind is sdist or wheel."""
    run(
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--skip-dependency-check",
        f"--{kind}",
        "-o",
        out,
        source,
        **env,
    )
    [made] = out.iterdir()
    return made


def clean_environment(folder: Path, python: str | Path = sys.executable) -> Path:
    """A virtual environment without any package; its folder of programs."""
    run(python, "-m", "venv", "--without-pip", folder)
    return folder / "bin"


def install(programs: Path, package: Path, empty: Path) -> None:
    """A package and its dependencies, all from wheels: pip finds no compiler. It is the pip of this environment."""
    words = ("install", "-q", "--no-compile", "--only-binary", ":all:", package)
    run(sys.executable, "-m", "pip", "--python", programs / "python", *words, **without_compiler(empty))


def without_compiler(folder: Path) -> dict[str, str]:
    """An environment in which no compiler can be found: a PATH of one empty folder, and a CC that fails."""
    folder.mkdir(exist_ok=True)
    return {"PATH": str(folder), "CC": "no-compiler-here"}


def server_of(programs: Path) -> type[RocketnsServer]:
    """A server that runs the installation in that environment. Its working folder is not this one."""

    class Installed(RocketnsServer):
        @classmethod
        def program(cls, options: object = ()) -> list[str]:
            return [str(programs / "rocketns"), *options]  # type: ignore[call-overload]

    return Installed


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", copy_tracked(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("sdist"))


DIST = os.environ.get("ROCKETNS_DIST", "")
MINORS = (11, 12, 13, 14)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(BUILD_TIMEOUT_S)]


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
    programs = {"rocketns", "mqnamesrv", *(f"rocketns-{word}" for word in (*TOOLS, *PROGRAMS))}
    assert names == {f"rocketns-{__version__}.data/data/share/man/man1/{name}.1" for name in programs}


def compiled() -> set[str]:
    suffix = ".abi3.so" if DIST else str(sysconfig.get_config_var("EXT_SUFFIX"))
    sources = [path.relative_to(ROOT) for path in (ROOT / "rocketns").rglob("*.pyx")]
    # Cython writes this one for the others.
    return {path.with_suffix(suffix).as_posix() for path in (*sources, Path("rocketns/_fast/system/memory_views.c"))}


def others() -> set[str]:
    shown = ["pipeline/report/templates", "admin/page/static", "shadow/static"]
    folders = [ROOT / "rocketns" / folder for folder in shown]
    found = {path for folder in folders for path in folder.iterdir()} | set((ROOT / "rocketns").rglob("*.pxd"))
    made = {f"rocketns/tools/completions/rocketns.{shell}" for shell in SHELLS}
    catalogues = [path.relative_to(ROOT) for path in (ROOT / "rocketns").rglob("*.po")]
    made |= {path.with_suffix(".mo").as_posix() for path in catalogues}
    made |= {path.with_suffix(".json").as_posix() for path in catalogues if path.stem == "page"}  # for its scripts
    return (
        {path.relative_to(ROOT).as_posix() for path in found}
        | made
        | {"rocketns/py.typed", "rocketns/style.css", "rocketns/pipeline/cli/demo.zip"}
    )


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
