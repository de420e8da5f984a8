"""Java programs of one RocketMQ version: small heap, a home folder of their own, their log in one file there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from interop.harness.process import Process
from interop.harness.rocketmq.archive import sharing
from interop.harness.rocketmq.maven import classpath

CURRENT, OLD = "5.5.0", "4.9.7"
DIRECT_MEMORY_MB = 128
# Of the certificate that each server in test mode makes for itself at its start: 2,048 bits take a second of CPU time,
# and a broker makes two. Not for a name server that is asked for TLS: OpenSSL refuses such a short one.
SHORT_KEY = "-Dio.netty.handler.ssl.util.selfSignedKeyStrength=1024"
# A server that takes TLS makes that certificate even if nobody asks for TLS: two fifths of the CPU time of a broker's
# start.
NO_TLS = "-Dtls.server.mode=disabled"
# 4.9 frees its mapped files through JDK internals that newer JDKs keep closed; 5.x needs the same for some.
OPEN_MODULES = (
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
)
# Without a warning in its configuration logback prints nothing: standard output holds the program's own lines only.
LOGBACK = """<configuration>
<appender name="file" class="{package}ch.qos.logback.core.FileAppender"><file>{log}</file>
<encoder><pattern>%d{{HH:mm:ss.SSS}} %level %thread - %msg%n</pattern></encoder></appender>
<root level="INFO"><appender-ref ref="file"/></root>
</configuration>
"""


@dataclass(frozen=True)
class Java:
    """Runs programs of one version under one home folder."""

    home: Path
    version: str = CURRENT

    @property
    def log(self) -> Path:
        """What the programs log (the 4.9 clients log under ``home/logs`` instead)."""
        return self.home / "java.log"

    def start(self, main: str, *arguments: str, output: str, heap_mb: int = 64, more_classes: Path | None = None,
              options: tuple[str, ...] = (), libraries: str = "") -> Process:  # fmt: skip
        """Start a main class; its standard output and error are appended to ``home/output``. ``libraries`` is a class
        path in place of RocketMQ's."""
        jars = libraries or classpath(self.version)
        classes = jars if more_classes is None else f"{jars}:{more_classes}"  # what is kept is for jars in front
        command = ["java", "-Xms32m", f"-Xmx{heap_mb}m", f"-XX:MaxDirectMemorySize={DIRECT_MEMORY_MB}m",
                   "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *sharing(jars), *OPEN_MODULES, SHORT_KEY,
                   f"-Duser.home={self.home}",
                   f"-Drmq.logback.configurationFile={self._logback()}", *options, "-cp", classes, main,
                   *arguments]  # fmt: skip
        # Java decodes its arguments by the locale, and some of ours are not ASCII.
        env = {"ROCKETMQ_HOME": str(self.home), "LC_ALL": "C.UTF-8"}
        return Process(command, self.home / output, env, cwd=self.home)

    def _logback(self) -> Path:
        """The logging configuration, where 5.x is told to look and where 4.9 brokers and tools insist on finding it."""
        package = "" if self.version.startswith("4.") else "org.apache.rocketmq.logging."
        text = LOGBACK.format(package=package, log=self.log)
        folder = self.home / "conf"
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("logback.xml", "logback_broker.xml", "logback_tools.xml"):
            (folder / name).write_text(text, "utf-8")
        return folder / "logback.xml"
