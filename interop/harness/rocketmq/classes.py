"""What is compiled when it is first used: the programs of ``interop/java``, and Java's name server of 5.5.1."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from interop.harness.rocketmq.maven import BEFORE_NEWEST, NEWEST, cache_folder, classpath, kept

SOURCES = Path(__file__).parents[2] / "java"
COMPILE_TIMEOUT_S = 120


def compiled(version: str) -> Path:
    """The folder of class files for one RocketMQ version, from the cache if the sources are still the same."""
    sources, libraries = sorted(SOURCES.glob("*.java")), classpath(version)
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = cache_folder() / f"rocketmq-{version}" / f"classes-{digest}"
    return kept(folder, lambda fresh: _compile(sources, libraries, fresh))


def name_server_classpath() -> str:
    """The class path of Java's name server on the libraries of RocketMQ 5.5.1.

    Maven Central has no jar of the 5.5.1 name server. What can be had of it is everything that a name server uses:
    common and remoting 5.5.1. So the name server of 5.5.0 is compiled again, from its published sources, with these
    libraries. Compiling matters: the compiler copies constants into the classes, and the address in a remark is one.
    """
    libraries = classpath(NEWEST)
    lib = Path(libraries.removesuffix("/*"))

    def make(fresh: Path) -> None:
        with tempfile.TemporaryDirectory() as sources:
            with zipfile.ZipFile(lib / f"rocketmq-namesrv-{BEFORE_NEWEST}-sources.jar") as archive:
                archive.extractall(sources)
            _compile(Path(sources).rglob("*.java"), libraries, fresh)

    return f"{kept(lib.with_name('namesrv'), make)}:{libraries}"


def _compile(sources: Iterable[Path], libraries: str, folder: Path) -> None:
    command = ["javac", "-nowarn", "-proc:none", "-d", str(folder), "-cp", libraries, *map(str, sorted(sources))]
    subprocess.run(command, check=True, timeout=COMPILE_TIMEOUT_S)
