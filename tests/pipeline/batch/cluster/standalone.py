"""A Spark standalone cluster on the loopback interface, from the jars that pyspark brings: a master and its workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pyspark

from interop.harness.process import Process
from tests.support.spark import FEWER_PROCESSES

HOME = Path(pyspark.__file__).parent
ENVIRONMENT = {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SCALA_VERSION": "2.13"}
START_TIMEOUT_S = 120.0
DEPLOY = "org.apache.spark.deploy"
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
# The daemons run for minutes: another compiler and a collector with threads of its own cost more than they save. So
# does looking through the whole heap for garbage each time when there are more classes.
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:MetaspaceSize=256m", FEWER_PROCESSES)


@dataclass
class Cluster:
    """A running cluster, whose files are in ``folder``. ``url``: what --master takes; ``memory``: of each worker."""

    url: str
    folder: Path
    started: list[Process]
    memory: str = "1g"
    workers: list[Process] = field(default_factory=list)

    def add_worker(self) -> Process:
        """Add a worker with one core. It registers by itself."""
        name = f"worker-{len(self.workers)}"
        words = ("--cores", "1", "--memory", self.memory, "-d", str(self.folder / f"work-{name}"), self.url)
        worker = _start(self.folder, name, f"{DEPLOY}.worker.Worker", *words)
        self.started.append(worker)
        self.workers.append(worker)
        return worker

    def add_ready_worker(self) -> None:
        """Add one, and wait until it has registered."""
        _wait_until_registered(self.add_worker())

    def kill_worker(self, number: int) -> list[int]:
        """SIGKILL to a worker and its processes, as when a machine is lost; returns the ids of its executors."""
        worker = psutil.Process(self.workers[number].pid)
        lost = [*worker.children(recursive=True), worker]
        executors = [process.pid for process in lost if EXECUTOR in _words(process)]
        for process in lost:
            with suppress(psutil.NoSuchProcess):  # a short-lived child
                process.kill()
        psutil.wait_procs(lost, timeout=START_TIMEOUT_S)
        return executors


def _words(process: psutil.Process) -> list[str]:
    """Its command line; none if it has just ended, as the short-lived children of a worker do."""
    try:
        return process.cmdline()
    except (psutil.ZombieProcess, psutil.NoSuchProcess):
        return []


@contextmanager
def cluster(folder: Path, workers: int = 2, memory: str = "1g") -> Iterator[Cluster]:
    """A cluster, stopped at the end of the block. ``memory``: of each worker, for its executors."""
    started: list[Process] = []
    try:
        started.append(_start(folder, "master", f"{DEPLOY}.master.Master"))
        url = started[0].wait_for(r"Starting Spark master at (spark://\S+)", START_TIMEOUT_S)[1]
        running = Cluster(url, folder, started, memory)
        for worker in [running.add_worker() for _ in range(workers)]:
            _wait_until_registered(worker)
        yield running
    finally:
        for process in reversed(started):
            process.stop()


def audit_on(master: str, journal: Path, out: Path, settings: Iterable[str] = ()) -> Process:
    """``rocketns audit run`` as a process of its own, whose output goes to a file beside ``out``."""
    words = ["run", "--journal", str(journal), "--out", str(out), "--master", master]
    command = [sys.executable, "-m", "rocketns", "audit", *words]
    for setting in settings:
        command += ["--conf", setting]
    return Process(command, out.with_suffix(".log"), env={"SPARK_LOCAL_IP": "127.0.0.1"})


def _wait_until_registered(worker: Process) -> None:
    worker.wait_for(r"Successfully registered with master", START_TIMEOUT_S)


def _start(folder: Path, name: str, main: str, *words: str) -> Process:
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java" if "JAVA_HOME" in os.environ else "java"
    command = [str(java), "-Xmx256m", *SHORT_LIVED, "-cp", f"{HOME}/jars/*", main, "--host", "127.0.0.1", "--port", "0",
               "--webui-port", "0", *words]  # fmt: skip
    return Process(command, folder / f"{name}.log", env=ENVIRONMENT, cwd=folder)
