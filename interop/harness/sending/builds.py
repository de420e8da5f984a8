"""Client programs built once from ``interop/clients``, kept in the user's cache folder until their sources change."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from interop.harness.rocketmq.maven import alone, cache_folder

CLIENTS = Path(__file__).parents[2] / "clients"
BUILD_TIMEOUT_S = 1800


def built(name: str, *commands: Sequence[str], env: dict[str, str] | None = None) -> Path:
    """A copy of ``interop/clients/name`` in which the commands were run once; CalledProcessError if one fails."""
    sources = CLIENTS / name
    folder = cache_folder() / "clients" / f"{name}-{_digest(sources, commands)}"
    if not folder.exists():
        with alone():
            _build(sources, folder, commands, os.environ | (env or {}))
    return folder


def _build(sources: Path, folder: Path, commands: Sequence[Sequence[str]], env: Mapping[str, str]) -> None:
    """Rename atomically; do nothing if another process has built it."""
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))
    shutil.copytree(sources, fresh, dirs_exist_ok=True)
    for command in commands:
        subprocess.run(command, cwd=fresh, env=env, check=True, timeout=BUILD_TIMEOUT_S)
    fresh.rename(folder)


def _digest(sources: Path, commands: Sequence[Sequence[str]]) -> str:
    files = sorted(path for path in sources.rglob("*") if path.is_file())
    parts = [path.relative_to(sources).as_posix().encode() + b"\0" + path.read_bytes() for path in files]
    return hashlib.sha256(b"\0".join([*parts, repr(commands).encode()])).hexdigest()[:16]
