"""The programs of ``interop/java``, compiled when they are first used."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from interop.harness.rocketmq.maven import cache_folder, classpath

SOURCES = Path(__file__).parents[2] / "java"
COMPILE_TIMEOUT_S = 120


def compiled(version: str) -> Path:
    """The folder of class files for one RocketMQ version, from the cache if the sources are still the same."""
    sources = sorted(SOURCES.glob("*.java"))
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = cache_folder() / f"rocketmq-{version}" / f"classes-{digest}"
    if not folder.exists():
        _compile(sources, version, folder)
    return folder


def _compile(sources: list[Path], version: str, folder: Path) -> None:
    libraries = classpath(version)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))
    command = ["javac", "-nowarn", "-d", str(fresh), "-cp", libraries, *map(str, sources)]
    subprocess.run(command, check=True, timeout=COMPILE_TIMEOUT_S)
    try:
        os.rename(fresh, folder)  # noqa: PTH104  whole or not at all, also beside another run
    except OSError:
        shutil.rmtree(fresh)
