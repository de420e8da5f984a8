"""A Docker engine: the one that runs already, or one of our own in a temporary folder, stopped at the end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COMMAND_TIMEOUT_S = 180.0
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0
# Built by the classic builder, which every engine has without a plug-in.
CLASSIC_BUILDER = {"DOCKER_BUILDKIT": "0"}


class NoEngine(Exception):
    """Why no container can be run here, in one sentence."""


class CommandFailed(AssertionError):
    """A command of docker's failed. The text has the command and what it printed."""


class Engine:
    """Runs commands of ``docker`` and of Compose against one engine. ``host`` is as in DOCKER_HOST."""

    def __init__(self, host: str | None) -> None:
        self.environment = dict(os.environ) | CLASSIC_BUILDER | ({"DOCKER_HOST": host} if host else {})

    def docker(self, *words: str, both: bool = False, timeout_s: float = COMMAND_TIMEOUT_S) -> str:
        """The standard output of ``docker words``, with its standard error if asked for ``both``. CommandFailed if its
        status is not 0."""
        return self.run(["docker", *words], both=both, timeout_s=timeout_s)

    def run(self, command: list[str], *, both: bool = False, timeout_s: float = COMMAND_TIMEOUT_S,
            cwd: Path | None = None, environment: dict[str, str] | None = None) -> str:  # fmt: skip
        """The same for any command that finds this engine by DOCKER_HOST."""
        done = subprocess.run(
            command, env=self.environment | (environment or {}), cwd=cwd, text=True, capture_output=True,
            timeout=timeout_s, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            said = "\n".join(f"{done.stdout}\n{done.stderr}".splitlines()[-60:])
            raise CommandFailed(f"{' '.join(command)}: status {done.returncode}\n{said}")
        return done.stdout + done.stderr if both else done.stdout

    def compose_command(self) -> list[str]:
        """Docker's own plug-in if there is one, else the older program of the same command line."""
        found = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0
        return ["docker", "compose"] if found else ["docker-compose"]


@contextmanager
def engine() -> Iterator[Engine]:
    """An engine that answers. NoEngine if there is none, and none can be started."""
    if shutil.which("docker") is None:
        raise NoEngine("docker is not on the PATH (Debian: apt-get install docker.io docker-compose mmdebstrap)")
    running = Engine(None)
    if _answers(running):
        yield running
        return
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        raise NoEngine("no Docker engine answers, and one is started only by root where dockerd is installed")
    with _own() as own:
        yield own


def _answers(one: Engine) -> bool:
    try:
        return bool(one.docker("info", "--format", "{{.ServerVersion}}", timeout_s=60).strip())
    except (CommandFailed, subprocess.TimeoutExpired):
        return False


@contextmanager
def _own() -> Iterator[Engine]:
    # Not in /tmp, which may be memory; dockerd chooses the best storage driver that works there.
    folder = Path(tempfile.mkdtemp(prefix="rocketns-docker-", dir="/var/tmp"))
    address = f"unix://{folder}/docker.sock"
    command = [
        "dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid",
        "--host", address, "--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", f"/{folder.name}",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        _wait_until_it_answers(Engine(address), process, folder / "log")
        yield Engine(address)
    finally:
        _stop(process)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_it_answers(one: Engine, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not _answers(one):
        if process.poll() is not None or time.monotonic() > deadline:
            last = log.read_text("utf-8", "replace").splitlines()[-1:] or ["it printed nothing"]
            raise NoEngine(f"dockerd did not start within {START_TIMEOUT_S:.0f} s: {last[0][-300:]}")
        time.sleep(0.2)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """With SIGTERM it stops its containers and unmounts their file systems."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
