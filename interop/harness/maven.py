"""RocketMQ's own jars through Maven, resolved once a version and kept in the user's cache folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

MAVEN_TIMEOUT_S = 900

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>rocketns.interop</groupId><artifactId>{name}</artifactId><version>1</version>
<dependencies>
{dependencies}
</dependencies></project>
"""
DEPENDENCY = (
    "<dependency><groupId>org.apache.rocketmq</groupId><artifactId>{artifact}</artifactId>"
    "<version>{version}</version></dependency>"
)
ARTIFACTS = ("rocketmq-namesrv", "rocketmq-broker", "rocketmq-tools", "rocketmq-client")


def missing_tools() -> list[str]:
    """The programs of java, javac and mvn that are not on the PATH."""
    return [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "rocketns-interop"


def classpath(version: str) -> str:
    """The class path of name server, broker, admin tools and client of one RocketMQ version."""
    return jars(f"rocketmq-{version}", version, *ARTIFACTS)


def jars(name: str, version: str, *artifacts: str) -> str:
    """The class path of some of RocketMQ's artifacts and all that they need, kept in a cache folder of that name."""
    folder = cache_folder() / name
    if not (folder / "complete").exists():
        with alone():
            _resolve(folder, version, artifacts)
    return f"{folder / 'lib'}/*"


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Wait until no other process fetches or builds what is kept in the cache folder."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _resolve(folder: Path, version: str, artifacts: Sequence[str]) -> None:
    if (folder / "complete").exists():
        return  # by whom was waited for
    folder.mkdir(parents=True, exist_ok=True)
    dependencies = "\n".join(DEPENDENCY.format(artifact=a, version=version) for a in artifacts)
    (folder / "pom.xml").write_text(POM.format(name=folder.name, dependencies=dependencies), "utf-8")
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib"]
    subprocess.run(command, cwd=folder, check=True, timeout=MAVEN_TIMEOUT_S)
    (folder / "complete").touch()
