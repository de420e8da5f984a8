"""The program helm: that of this machine, or else helm as a library, which Maven Central has as jars."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from interop.harness.rocketmq.maven import alone, cache_folder, jars, missing_tools

VERSION = "0.0.21"  # of the library; it has helm 3.21.0
GROUP = "com.marcnuri.helm-java"
PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}
SOURCE = Path(__file__).with_name("HelmProgram.java")
COMPILE_TIMEOUT_S = 120
# It runs for a second: Java's second compiler and a collector with threads of its own would cost more than they save.
OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def helm() -> str:
    """The program; a test that needs it is left out where there is neither helm nor Java."""
    beside = Path(sys.executable).parent / "helm"
    found = str(beside) if beside.is_file() else shutil.which("helm")
    missing = missing_tools()
    if not found and missing:
        pytest.skip(f"neither helm (`make helm` builds it with go) nor {', '.join(missing)}: the chart is not rendered")
    return found or str(of_the_library())


def of_the_library() -> Path:
    """A program with those of helm's commands that the tests use, in the cache folder."""
    native = f"linux-{PROCESSORS[platform.machine()]}"
    libraries = jars("helm", VERSION, "helm-java", native, group=GROUP)
    digest = hashlib.sha256(SOURCE.read_bytes() + OPTIONS.encode()).hexdigest()[:16]
    folder = cache_folder() / "helm" / f"program-{digest}"
    with alone():
        if not folder.exists():
            _compile(libraries, folder)
    return folder / "helm"


def _compile(libraries: str, folder: Path) -> None:
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))
    command = ["javac", "-d", str(fresh), "-cp", libraries, str(SOURCE)]
    subprocess.run(command, check=True, timeout=COMPILE_TIMEOUT_S)
    program = fresh / "helm"
    program.write_text(f"#!/bin/sh\nexec java {OPTIONS} -cp '{folder}:{libraries}' {SOURCE.stem} \"$@\"\n", "utf-8")
    program.chmod(0o755)
    os.rename(fresh, folder)  # noqa: PTH104  whole or not at all
