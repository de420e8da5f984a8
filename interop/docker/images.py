"""The images of the tests: rocketns, the same in the operator's layout, and RocketMQ 5.5.0."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from interop.docker.engine import Engine
from interop.harness.rocketmq.archive import archive_of
from interop.harness.rocketmq.archive import sharing as archive_options
from interop.harness.rocketmq.java import CURRENT
from interop.harness.rocketmq.keeping import keep
from interop.harness.rocketmq.maven import classpath

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
BUILD_TIMEOUT_S = 900.0
# The DNS server of this machine may be one that containers do not reach.
HOST_NETWORK = "--network=host"
# The image compiles rocketns itself, which takes minutes, instead of using what is compiled here already.
COMPILES = "ROCKETNS_DOCKER_COMPILES"


@dataclass(frozen=True)
class Images:
    """Tags; what is built from ``base``. That of rocketns was built in ``context`` with ``arguments``, the others are
    built when they are first asked for."""

    engine: Engine
    base: str
    folder: Path
    context: Path
    arguments: tuple[str, ...]
    rocketns: str = "rocketns"

    @cached_property
    def operator(self) -> str:
        return _build(self.engine, self.context, "rocketns:operator", *self.arguments, "--target=operator")

    @cached_property
    def rocketmq(self) -> str:
        options = _rocketmq_context(self.folder / "rocketmq")
        arguments = [f"--build-arg={name}={value}" for name, value in (options | {"BASE": self.base}).items()]
        return _build(self.engine, self.folder / "rocketmq", "rocketns-test/rocketmq", HOST_NETWORK, *arguments)


def build(engine: Engine, base: str, folder: Path) -> Images:
    """Build the image of rocketns; ``folder`` is for the files of all builds."""
    images = Images(engine, base, folder, *_context(engine, base, folder / "rocketns"))
    _build(engine, images.context, images.rocketns, *images.arguments, "--target=rocketns")
    return images


def _build(engine: Engine, context: Path, tag: str, *options: str) -> str:
    """The tag."""
    engine.docker("build", f"--tag={tag}", *options, str(context), timeout_s=BUILD_TIMEOUT_S)
    return tag


def _context(engine: Engine, base: str, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """The folder that ``docker build`` gets, and its options: the whole repository, or a wheel of what is compiled."""
    if os.environ.get(COMPILES) or not _same_python(engine, base):
        return ROOT, (HOST_NETWORK, f"--build-arg=BASE={base}")
    shutil.copytree(ROOT / "packaging" / "docker", folder / "packaging" / "docker")
    shutil.copy(ROOT / "Dockerfile", folder)
    _wheel(folder / "dist")
    return folder, (HOST_NETWORK, f"--build-arg=BASE={base}", "--build-arg=WHEELS=dist")


def _same_python(engine: Engine, base: str) -> bool:
    """Whether the image's Python loads what was compiled for this one."""
    code = "import sys; print(*sys.version_info[:2])"
    return engine.docker("run", "--rm", base, "python3", "-c", code).split() == list(map(str, sys.version_info[:2]))


def _wheel(folder: Path) -> None:
    """A wheel of the sources, with the modules that are compiled already; setuptools compiles the others."""
    made = folder.parent / "wheel"
    for module in (ROOT / "rocketns").rglob("*.so"):
        copy = made / "lib" / module.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(module, copy)  # with its time, by which setuptools decides
    command = [
        sys.executable, "-W", "ignore", "setup.py", "-q",
        "egg_info", f"--egg-base={made}",
        "build", f"--build-lib={made / 'lib'}",
        "bdist_wheel", "--skip-build", f"--bdist-dir={made / 'wheel'}", f"--dist-dir={folder}",
    ]  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name != "ROCKETNS_TESTS"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=BUILD_TIMEOUT_S)
    shutil.rmtree(made)


def _rocketmq_context(folder: Path) -> dict[str, str]:
    """RocketMQ's jars, this machine's Java runtime, and the archive of loaded classes, which
    halves the time of a start. It holds only for these paths and this order of jars. Returns the build's arguments."""
    shutil.copytree(HERE / "rocketmq", folder)
    jars = Path(classpath(CURRENT).removesuffix("/*"))
    _link_or_copy(jars, folder / "kept" / jars.name)
    names = [entry.path for entry in os.scandir(jars) if entry.name.endswith(".jar")]  # as Java expands a star
    (folder / "kept" / "classpath").write_text(":".join(names), "utf-8")
    keep(CURRENT)
    if (archive := archive_of(classpath(CURRENT))) and archive.exists():
        shutil.copy2(archive, folder / "kept")
    _link_or_copy(_java_home(), folder / "jvm", without=("jmods", "include", "man", "src.zip", "demo", "legal"))
    sharing = " ".join(archive_options(classpath(CURRENT)))
    return {"KEPT": str(jars.parent), "JVM": str(_java_home()), "SHARING": sharing}


def _java_home() -> Path:
    java = shutil.which("java")
    assert java, "the whole folder is left out without java"
    return Path(java).resolve().parents[1]


def _link_or_copy(source: Path, target: Path, without: tuple[str, ...] = ()) -> None:
    """A copy of a folder with the files behind its links."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*without), ignore_dangling_symlinks=True)
