"""A name server of either kind as a process on a free loopback port, with its own home folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from interop.harness.process import Process, ProcessFailed
from interop.harness.wire import Client

BOOT_LINE = r"The Name Server boot success\. serializeType=\w+, address \S*:(\d+)"


class NameServer:
    """Started on construction. ``properties`` become the ``-c`` file; listenPort 0 unless they say otherwise."""

    kind = ""

    def __init__(self, home: Path, properties: dict[str, object] | None = None, *,
                 options: list[str] | None = None, env: dict[str, str] | None = None) -> None:  # fmt: skip
        self.home = home
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

    def start(self) -> None:
        self.process = Process(
            self.command(), self.home / "stdout.log", {"ROCKETMQ_HOME": str(self.home)} | self.env, cwd=self.home
        )
        try:
            self.port = int(self.process.wait_for(BOOT_LINE)[1])
        except ProcessFailed:
            self.process.kill()  # a start that failed leaves nothing behind
            raise

    def command(self) -> list[str]:
        raise NotImplementedError

    @property
    def pid(self) -> int:
        return self.process.pid

    def connect(self) -> Client:
        return Client(self.port)

    def stop(self) -> int:
        return self.process.stop()

    def kill(self) -> int:
        return self.process.kill()

    def restart(self) -> None:
        """Stop and start again with the same files. The port may change where listenPort is 0."""
        self.stop()
        self.start()


class RocketnsServer(NameServer):
    """rocketns, run by the Python that runs the tests."""

    kind = "rocketns"

    def command(self) -> list[str]:
        self.env.setdefault("HOME", str(self.home))
        return [sys.executable, "-m", "rocketns", "-c", str(self.config_path), *self.options]


class JavaNameServer(NameServer):
    """The Java NameServer of Apache RocketMQ, from the jars of ``interop.harness.maven``."""

    kind = "java"

    def __init__(self, home: Path, properties: dict[str, object] | None = None, *, classpath: str = "",
                 options: list[str] | None = None, env: dict[str, str] | None = None) -> None:  # fmt: skip
        self.classpath = classpath or os.environ.get("ROCKETNS_JAVA_CLASSPATH", "")
        super().__init__(home, properties, options=options, env=env)

    def command(self) -> list[str]:
        if not self.classpath:
            from interop.harness.maven import classpath

            self.classpath = classpath("5.5.0")
        return ["java", "-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", f"-Duser.home={self.home}", *self.options,
                "-cp", self.classpath, "org.apache.rocketmq.namesrv.NamesrvStartup",
                "-c", str(self.config_path)]  # fmt: skip
