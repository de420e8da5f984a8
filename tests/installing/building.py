"""What the tests install: a copy of the files in git, the sdist and the wheel made from it, clean environments."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interop.harness.servers import RocketnsServer
from tests.check.source import ROOT

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
