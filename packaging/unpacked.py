"""Puts the compiled modules of a wheel beside their sources: python packaging/unpacked.py dist.

Exit status 1 where no wheel in that folder fits this machine, or was made from other sources than the checkout has;
then they must be compiled.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (".pyx", ".pxd")
TRIED = "rocketns._fast.reactor.reactors"  # imports nearly all others


def unpack(wheel: Path) -> bool:
    """Whether the modules are now in the checkout, and can be imported."""
    with zipfile.ZipFile(wheel) as archive:
        if sources(archive) != {str(path.relative_to(ROOT)): path.read_bytes() for path in in_the_checkout()}:
            return False
        modules = [name for name in archive.namelist() if name.endswith(".so")]
        archive.extractall(ROOT, modules)
    tried = subprocess.run([sys.executable, "-c", f"import {TRIED}"], cwd=ROOT, capture_output=True, check=False)
    if tried.returncode:
        for name in modules:
            (ROOT / name).unlink()
    return tried.returncode == 0


def sources(archive: zipfile.ZipFile) -> dict[str, bytes]:
    return {name: archive.read(name) for name in archive.namelist() if name.endswith(SOURCES)}


def in_the_checkout() -> list[Path]:
    return [path for path in (ROOT / "rocketns").rglob("*.p[yx][xd]") if path.suffix in SOURCES]


def main() -> int:
    for wheel in sorted(Path(sys.argv[1]).glob(f"rocketns-*-abi3-*_{platform.machine()}.whl")):
        if unpack(wheel):
            print(f"took the compiled modules from {wheel}")
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
