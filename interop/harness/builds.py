"""Client programs built once from ``interop/clients``, kept in the user's cache folder until their sources change."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from interop.harness.maven import cache_folder

CLIENTS = Path(__file__).parents[1] / "clients"
BUILD_TIMEOUT_S = 1800


def built(name: str, *commands: Sequence[str], env: dict[str, str] | None = None) -> Path:
    """A copy of ``interop/clients/name`` in which the commands were run once; CalledProcessError if one fails."""
    sources = CLIENTS / name
    folder = cache_folder() / "clients" / f"{name}-{_digest(sources, commands)}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=folder.parent))
        shutil.copytree(sources, fresh, dirs_exist_ok=True)
        for command in commands:
            subprocess.run(command, cwd=fresh, env=os.environ | (env or {}), check=True, timeout=BUILD_TIMEOUT_S)
        _keep(fresh, folder)
    return folder


def _digest(sources: Path, commands: Sequence[Sequence[str]]) -> str:
    files = sorted(path for path in sources.rglob("*") if path.is_file())
    parts = [path.relative_to(sources).as_posix().encode() + b"\0" + path.read_bytes() for path in files]
    return hashlib.sha256(b"\0".join([*parts, repr(commands).encode()])).hexdigest()[:16]


def _keep(fresh: Path, folder: Path) -> None:
    try:
        os.rename(fresh, folder)  # noqa: PTH104  whole or not at all, also beside another run
    except OSError:
        shutil.rmtree(fresh)
