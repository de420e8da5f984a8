"""Versions and hashes of what the image installs: ``make locks`` writes them again with uv."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "packaging" / "docker"
# For every processor and every Python that the package allows.
UV = (sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11",
      "--generate-hashes", "--custom-compile-command", "python -m tests.check.locks")  # fmt: skip
PIN = re.compile(r"(?P<name>[\w.-]+)==(?P<version>\S+)")
VIA = re.compile(r"# +(?:via )?(?P<name>\S+)")


@dataclass
class Pin:
    """One package of a lock file: its version, its hashes, and the packages that need it (none for the list itself)."""

    version: str
    hashes: list[str] = field(default_factory=list)
    needed_by: set[str] = field(default_factory=set)


def wanted() -> dict[Path, list[Requirement]]:
    """The lists of pyproject.toml by the file that pins them. The image has the management port, too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]
    installed = [*project["project"]["dependencies"], *extras["admin"]]
    return {
        FOLDER / "requirements.txt": list(map(Requirement, installed)),
        FOLDER / "requirements-build.txt": list(map(Requirement, project["build-system"]["requires"])),
        FOLDER / "requirements-sbom.txt": list(map(Requirement, extras["sbom"])),
    }


def pins(path: Path) -> dict[str, Pin]:
    """What a lock file pins, by normalised name."""
    found: dict[str, Pin] = {}
    pin = Pin("")
    for line in path.read_text("utf-8").splitlines():
        if match := PIN.match(line):
            pin = found.setdefault(canonicalize_name(match["name"]), Pin(match["version"]))
        elif "--hash=" in line:
            pin.hashes.append(line.strip(" \\").removeprefix("--hash="))
        elif match := VIA.search(line):
            pin.needed_by.add(match["name"])
    return found


def main(options: list[str]) -> int:
    """Write all files; ``options`` are uv's (``--upgrade``). Without them a version stays while it is allowed."""
    for path, requirements in wanted().items():
        lines = "".join(f"{one}\n" for one in requirements)
        subprocess.run([*UV, *options, "--output-file", str(path), "-"], input=lines, text=True, check=True, cwd=ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
