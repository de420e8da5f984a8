"""A name server of either kind as a process on a free loopback port, with its own home folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from interop.harness.process import Process
from interop.harness.rocketmq import maven
from interop.harness.rocketmq.archive import sharing
from interop.harness.supervisor import Supervisor
from interop.harness.wire import Client

# Tests run for minutes at most, so Java's second compiler costs more than it saves. Benchmarks use neither these words
# nor the archive of classes.
FIRST_COMPILER = ("-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
BOOT_LINE = r"The Name Server boot success\. serializeType=\w+, address \S*:(\d+)"


class NameServer:
    """Started on construction. ``properties`` become the ``-c`` file; listenPort 0 unless they say otherwise."""

    kind = ""
    host = "127.0.0.1"  # that `connect` connects to

    def __init__(self, home: Path, properties: dict[str, object] | None = None, *,
                 options: list[str] | None = None, env: dict[str, str] | None = None,
                 supervisor: Supervisor | None = None) -> None:  # fmt: skip
        self.home = home
        self.supervisor = supervisor
        home.mkdir(parents=True, exist_ok=True)
        self.config_path = home / "namesrv.properties"
        self.options = options or []
        self.env = env or {}
        settings = {
            "listenPort": 0,
            "bindAddress": "127.0.0.1",
            "kvConfigPath": home / "kvConfig.json",
        } | (properties or {})
        self.config_path.write_text("".join(f"{k}={v}\n" for k, v in settings.items()), "utf-8")
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        env, log = {"ROCKETMQ_HOME": str(self.home)} | self.env, self.home / "stdout.log"
        if self.supervisor is None:
            self.process = Process(self.command(), log, env, cwd=self.home)
        else:
            self.process = self.supervisor.start(self.command(), log, env, cwd=self.home)
        self.port = int(self.process.wait_for_start(BOOT_LINE)[1])

    @classmethod
    def program(cls, options: Sequence[str] = ()) -> list[str]:
        """The command that starts this kind of server; ``options`` are system properties (-Dname=value)."""
        raise NotImplementedError

    def command(self) -> list[str]:
        return [*self.program([f"-Duser.home={self.home}", *self.options]), "-c", str(self.config_path)]

    @property
    def pid(self) -> int:
        return self.process.pid

    def connect(self) -> Client:
        return Client(self.port, self.host)

    def stop(self) -> int:
        return self.process.stop()

    def kill(self) -> int:
        return self.process.kill()

    def restart(self) -> None:
        """Stop and start again with the same files. The port may change where listenPort is 0."""
        self.stop()
        self.start()


class RocketnsServer(NameServer):
    """rocketns, run by the Python that runs the tests, with two reactors, so that connections are on different ones."""

    kind = "rocketns"
    reactors: ClassVar[int] = 2

    @classmethod
    def program(cls, options: Sequence[str] = ()) -> list[str]:
        return [sys.executable, "-m", "rocketns", "--reactors", str(cls.reactors), *options]


class JavaNameServer(NameServer):
    """The Java NameServer of Apache RocketMQ, from the jars of ``interop.harness.rocketmq.maven``."""

    kind = "java"

    def __init__(self, home: Path, properties: dict[str, object] | None = None, *, classpath: str = "",
                 options: list[str] | None = None, env: dict[str, str] | None = None) -> None:  # fmt: skip
        # Java takes the last -cp; one of the caller's comes after the default of ``program``.
        jars = ["-cp", classpath] if classpath else []
        super().__init__(home, properties, options=[*(options or []), *jars], env=env)

    @classmethod
    def program(cls, options: Sequence[str] = ()) -> list[str]:
        jars = os.environ.get("ROCKETNS_JAVA_CLASSPATH") or maven.classpath("5.5.0")
        return ["java", "-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", *FIRST_COMPILER, *sharing(jars), "-cp", jars,
                *options, "org.apache.rocketmq.namesrv.NamesrvStartup"]  # fmt: skip
