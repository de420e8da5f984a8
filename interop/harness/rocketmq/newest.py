"""Java's name server on the libraries of RocketMQ 5.5.1.

Maven Central has no jar of the 5.5.1 name server. What can be had of it is everything that a name server uses: common
and remoting 5.5.1. So the name server of 5.5.0 is compiled again, from its published sources, with these libraries.
Compiling matters: the compiler copies constants into the classes, and the address in a remark is one of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from interop.harness.rocketmq.maven import BEFORE_NEWEST, NEWEST, alone, classpath

COMPILE_TIMEOUT_S = 120


def name_server_classpath() -> str:
    """The class path of this name server, compiled when first used."""
    libraries = classpath(NEWEST)
    lib = Path(libraries.removesuffix("/*"))
    folder = lib.with_name("namesrv")
    if not folder.exists():
        with alone():
            _compile(lib, folder)
    return f"{folder}:{libraries}"


def _compile(lib: Path, folder: Path) -> None:
    if folder.exists():
        return  # by the process that was waited for
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))
    sources = fresh / "sources"
    with zipfile.ZipFile(lib / f"rocketmq-namesrv-{BEFORE_NEWEST}-sources.jar") as archive:
        archive.extractall(sources)
    files = map(str, sorted(sources.rglob("*.java")))
    command = ["javac", "-nowarn", "-proc:none", "-d", str(fresh), "-cp", f"{lib}/*", *files]
    subprocess.run(command, check=True, timeout=COMPILE_TIMEOUT_S)
    shutil.rmtree(sources)
    os.rename(fresh, folder)  # noqa: PTH104  whole or not at all
