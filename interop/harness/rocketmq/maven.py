"""RocketMQ's own jars, and others, through Maven, resolved once a version and kept in the user's cache folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

MAVEN_TIMEOUT_S = 900
ROCKETMQ = "org.apache.rocketmq"

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>rocketns.interop</groupId><artifactId>{name}</artifactId><version>1</version>
<dependencies>
{dependencies}
</dependencies></project>
"""
DEPENDENCY = (
    "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
    "<version>{version}</version><classifier>{classifier}</classifier><exclusions>{exclusions}</exclusions></dependency>"
)
EXCLUSION = "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>"
ARTIFACTS = ("rocketmq-namesrv", "rocketmq-broker", "rocketmq-tools", "rocketmq-client")
# Of this release Maven Central has these artifacts. All others, also those that these ask for, are of the one before.
NEWEST, BEFORE_NEWEST = "5.5.1", "5.5.0"
PUBLISHED_OF_NEWEST = tuple(
    f"rocketmq-{name}:{NEWEST}" for name in ("broker", "common", "remoting", "store", "tiered-store", "controller")
)
ASKED_FOR_BY_NEWEST = ("rocketmq-srvutil", "rocketmq-filter", "rocketmq-auth")


def missing_tools() -> list[str]:
    """The programs of java, javac and mvn that are not on the PATH."""
    return [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "rocketns-interop"


def classpath(version: str) -> str:
    """The class path of name server, broker, admin tools and client of one RocketMQ version."""
    if version == NEWEST:
        older = [artifact for artifact in ARTIFACTS if f"{artifact}:{NEWEST}" not in PUBLISHED_OF_NEWEST]
        sources = f"rocketmq-namesrv:{BEFORE_NEWEST}:sources"
        return jars(f"rocketmq-{NEWEST}", BEFORE_NEWEST, *PUBLISHED_OF_NEWEST, *older, *ASKED_FOR_BY_NEWEST, sources)
    return jars(f"rocketmq-{version}", version, *ARTIFACTS)


def jars(name: str, version: str, *artifacts: str, group: str = ROCKETMQ, without: Sequence[str] = ()) -> str:
    """The class path of some artifacts of a group and all that they need, kept in a cache folder of that name.

    An artifact may have a version of its own, and a classifier: ``name:version:classifier``. ``without``: what they
    need, as ``group:artifact``, but is left out; the artifact may be ``*``.
    """
    folder = cache_folder() / name
    if not (folder / "complete").exists():
        with alone():
            _resolve(folder, [_dependency(artifact, version, group, without) for artifact in artifacts])
    return f"{folder / 'lib'}/*"


def kept(folder: Path, make: Callable[[Path], object]) -> Path:
    """A folder of the cache. ``make`` fills it where it is missing: whole or not at all, also beside another run."""
    if not folder.exists():
        with alone():
            if not folder.exists():
                folder.parent.mkdir(parents=True, exist_ok=True)
                fresh = Path(tempfile.mkdtemp(dir=folder.parent))
                make(fresh)
                fresh.rename(folder)
    return folder


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Wait until no other process fetches or builds what is kept in the cache folder."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _resolve(folder: Path, dependencies: Sequence[str]) -> None:
    if (folder / "complete").exists():
        return  # by the process that was waited for
    folder.mkdir(parents=True, exist_ok=True)
    pom = POM.format(name=folder.name, dependencies="\n".join(dependencies))
    (folder / "pom.xml").write_text(pom, "utf-8")
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib"]
    subprocess.run(command, cwd=folder, check=True, timeout=MAVEN_TIMEOUT_S)
    (folder / "complete").touch()


def _dependency(artifact: str, version: str, group: str, without: Sequence[str]) -> str:
    name, own_version, classifier = [*artifact.split(":"), "", ""][:3]
    exclusions = "".join(EXCLUSION.format(*each.split(":")) for each in without)
    return DEPENDENCY.format(
        group=group, artifact=name, version=own_version or version, classifier=classifier, exclusions=exclusions
    )
