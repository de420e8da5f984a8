"""The program helm: that of this machine, or else helm as a library, which Maven Central has as jars."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from interop.harness.rocketmq.maven import alone, cache_folder, jars, missing_tools

VERSION = "0.0.21"  # of the library; it has helm 3.21.0
GROUP = "com.marcnuri.helm-java"
PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}
SOURCE = Path(__file__).with_name("HelmProgram.java")
COMPILE_TIMEOUT_S = 120
TIMEOUT_S = 100
# Java's second compiler and a collector with threads of its own would cost more than they save.
OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class Said(NamedTuple):
    """How a command ended: its output if its status is 0, else what it complains about."""

    status: int
    text: str


def helm(*words: str) -> Said:
    """Run a command; a test that needs it is left out where there is neither helm nor Java."""
    beside = Path(sys.executable).parent / "helm"
    found = str(beside) if beside.is_file() else shutil.which("helm")
    if found:
        done = subprocess.run([found, *words], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        return Said(done.returncode, done.stdout if done.returncode == 0 else done.stdout + done.stderr)
    if missing := missing_tools():
        pytest.skip(f"neither helm (`make helm` builds it with go) nor {', '.join(missing)}: the chart is not rendered")
    return _ask_library(*words)


def _ask_library(*words: str) -> Said:
    process = _of_the_library()
    assert process.stdin
    assert process.stdout
    process.stdin.write("\t".join(words) + "\n")
    process.stdin.flush()
    status, _, text = process.stdout.readline().partition(" ")
    return Said(int(status), base64.b64decode(text).decode())


@functools.cache
def _of_the_library() -> subprocess.Popen[str]:
    """The Java program that runs the commands, until this process ends: its start costs more than all of them."""
    native = f"linux-{PROCESSORS[platform.machine()]}"
    libraries = jars("helm", VERSION, "helm-java", native, group=GROUP)
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    folder = cache_folder() / "helm" / f"program-{digest}"
    if not folder.exists():
        with alone():
            _compile(libraries, folder)
    command = ["java", *OPTIONS, "-cp", f"{folder}:{libraries}", SOURCE.stem]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _compile(libraries: str, folder: Path) -> None:
    if folder.exists():
        return  # by the process that was waited for
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))
    command = ["javac", "-d", str(fresh), "-cp", libraries, str(SOURCE)]
    subprocess.run(command, check=True, timeout=COMPILE_TIMEOUT_S)
    os.rename(fresh, folder)  # noqa: PTH104  whole or not at all
