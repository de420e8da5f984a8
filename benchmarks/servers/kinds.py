"""The kinds of name servers that are measured, and how each is started."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.failures import CellFailed
from benchmarks.servers import programs
from interop.harness.rocketmq.maven import missing_tools
from interop.harness.servers import JavaNameServer
from rocketns.config.tls import TlsConfig
from rocketns.server.tls.contexts import read_pair

# The benchmark's own pauses must not close the brokers' connections.
IDLE_S = 3600
# At times more requests are outstanding than the default capacity of 50,000. All servers have this setting.
QUEUE, QUEUE_CAPACITY = "clientRequestThreadPoolQueueCapacity", 200_000
DEFAULT, FORMER, REACTORS_2 = "rocketns", "rocketns-former", "rocketns-2"
JAVA, JAVA_G1, JAVA_SCRIPT, RUST, C = "java", "java-g1", "java-script", "rust", "c"
# In every part. rocketns is compared with the one that does best in the row.
JAVAS = (JAVA, JAVA_G1, JAVA_SCRIPT)

# bin/runserver.sh of RocketMQ 5.x for Java 9 and newer, without its heap and its log of collections.
SCRIPT_OPTIONS = (
    "-server", "-XX:MetaspaceSize=128m", "-XX:MaxMetaspaceSize=320m", "-XX:+UseG1GC", "-XX:G1HeapRegionSize=16m",
    "-XX:G1ReservePercent=25", "-XX:InitiatingHeapOccupancyPercent=30", "-XX:SoftRefLRUPolicyMSPerMB=0",
    "-XX:-OmitStackTraceInFastThrow", "-XX:-UseLargePages",
)  # fmt: skip
SCRIPT_LOG = "-Xlog:gc*:file={home}/rmq_srv_gc_%p_%t.log:time,tags:filecount=5,filesize=30M"
SCRIPT_HEAP_MB, SCRIPT_HEAP_SHARE = 4096, 6
SMALL_HEAP = ("-Xms64m", "-Xmx{heap}m")


# The columns in order, with their titles.
LABELS = {
    DEFAULT: "rocketns",
    FORMER: "rocketns, former",
    REACTORS_2: "rocketns, 2 reactors",
    JAVA: "Java, small heap, serial",
    JAVA_G1: "Java, small heap, G1",
    JAVA_SCRIPT: "Java, runserver.sh",
    RUST: "Rust",
    C: "simple C server",
}


@dataclass(frozen=True)
class Launch:
    """What a server is started with."""

    home: Path
    port: int
    java_heap_mb: int
    # The body of the C server's answers, as large as the real ones.
    body: bytes
    # Whether the C server answers TLS, too, as the others do in any case.
    tls: bool


@dataclass(frozen=True)
class ServerKind:
    """``command`` writes the files that the server needs into its home folder, and returns the command line."""

    key: str
    command: Callable[[Launch], list[str]]
    # CellFailed with the reason if the server cannot run on this machine. The first call may build it and take long.
    prepare: Callable[[], object]
    compiles_itself: bool = False

    @property
    def label(self) -> str:
        """The title of its column."""
        return LABELS[self.key]


def _properties(launch: Launch) -> Path:
    path = launch.home / "namesrv.properties"
    settings = {"listenPort": launch.port, "bindAddress": "127.0.0.1", "kvConfigPath": launch.home / "kvConfig.json",
                "serverChannelMaxIdleTimeSeconds": IDLE_S, QUEUE: QUEUE_CAPACITY}  # fmt: skip
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
    return path


def _rocketns(python: tuple[str, ...], options: tuple[str, ...], launch: Launch) -> list[str]:
    return [*python, "-m", "rocketns", f"-Duser.home={launch.home}", *options, "-c", str(_properties(launch))]


def script_heap_mb() -> int:
    """The start script's 4 GB, or a sixth of the machine's memory if that is less, because all servers run at once."""
    machine_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    return min(SCRIPT_HEAP_MB, machine_mb // SCRIPT_HEAP_SHARE)


def java_options(key: str, heap_mb: int, home: Path | str = "HOME") -> list[str]:
    """The options of the virtual machine. ``heap_mb`` applies to the small heaps."""
    if key == JAVA_SCRIPT:
        heap = max(script_heap_mb(), heap_mb)
        return [f"-Xms{heap}m", f"-Xmx{heap}m", *SCRIPT_OPTIONS, SCRIPT_LOG.format(home=home)]
    collector = "-XX:+UseG1GC" if key == JAVA_G1 else "-XX:+UseSerialGC"
    return [*(word.format(heap=heap_mb) for word in SMALL_HEAP), collector]


def _java(key: str, launch: Launch) -> list[str]:
    options = [*java_options(key, launch.java_heap_mb, launch.home), f"-Duser.home={launch.home}"]
    # Without the harness' own heap and collector: Java refuses two collectors on one command line.
    program, *rest = [word for word in JavaNameServer.program() if not word.startswith("-X")]
    return [program, *options, *rest, "-c", str(_properties(launch))]


def _rust(launch: Launch) -> list[str]:
    path = launch.home / "namesrv.toml"
    settings = {
        "rocketmqHome": f'"{launch.home}"',
        "kvConfigPath": f'"{launch.home}/kvConfig.json"',
        "configStorePath": f'"{launch.home}/store.properties"',
        QUEUE: QUEUE_CAPACITY,
    }
    path.write_text("".join(f"{name} = {value}\n" for name, value in settings.items()), "utf-8")
    return [str(programs.rust_name_server()), "-c", str(path), "--listenPort", str(launch.port),
            "--bindAddress", "127.0.0.1"]  # fmt: skip


def _c(launch: Launch) -> list[str]:
    path = launch.home / "body"
    path.write_bytes(launch.body)
    command = [str(programs.compiled("cns", tls=launch.tls)), str(launch.port), str(path)]
    if launch.tls:
        pair = launch.home / "pair.pem"
        pair.write_bytes(read_pair(TlsConfig.read({}, {})).pem())
        command.append(str(pair))
    return command


def _prepare_java() -> None:
    if missing := missing_tools():
        raise CellFailed(f"not found on the PATH: {', '.join(missing)}")
    JavaNameServer.program()


def _of_rocketns(key: str, *options: str) -> ServerKind:
    return ServerKind(key, functools.partial(_rocketns, (sys.executable,), options), lambda: None)


def former(checkout: Path) -> ServerKind:
    """The rocketns of another checkout, in which `make run` or `make test` has made `.venv`. PYTHONPATH does not reach
    it."""
    python = checkout.absolute() / ".venv" / "bin" / "python"

    def prepare() -> None:
        if not python.exists():
            raise CellFailed(f"{python} does not exist: run `make run` there first")

    return ServerKind(FORMER, functools.partial(_rocketns, (str(python), "-E"), ()), prepare)


def _of_java(key: str) -> ServerKind:
    return ServerKind(key, functools.partial(_java, key), _prepare_java, compiles_itself=True)


def all_kinds() -> dict[str, ServerKind]:
    """By key, in the order of the tables."""
    kinds = (
        _of_rocketns(DEFAULT),
        _of_rocketns(REACTORS_2, "--reactors", "2"),
        *map(_of_java, JAVAS),
        ServerKind(RUST, _rust, programs.rust_name_server),
        ServerKind(C, _c, functools.partial(programs.compiled, "cns")),
    )
    return {kind.key: kind for kind in kinds}
