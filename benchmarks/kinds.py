"""The kinds of name servers that are measured, how each is started, and why one cannot be on this machine."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import programs
from benchmarks.failures import CellFailed
from interop.harness.maven import missing_tools
from interop.harness.servers import JavaNameServer

# The benchmark's own pauses must not close the brokers' connections.
IDLE_S = 3600
# More requests are outstanding at times than the default, 50,000, lets wait; all servers have this setting.
QUEUE, QUEUE_CAPACITY = "clientRequestThreadPoolQueueCapacity", 200_000
ROCKETNS, REACTORS_2, ASYNCIO, JAVA, RUST, LEAST = "rocketns-1", "rocketns-2", "rocketns-0", "java", "rust", "least"


@dataclass(frozen=True)
class Launch:
    """What a start depends on."""

    home: Path
    port: int
    java_heap_mb: int
    # The body of leastns' answer: as large as the real ones.
    body: bytes


@dataclass(frozen=True)
class Kind:
    """``command`` writes the files that the server needs below its home and returns what starts it."""

    key: str
    label: str
    command: Callable[[Launch], list[str]]
    # CellFailed with the reason where it cannot be measured here. May take long the first time: it builds.
    prepare: Callable[[], object]
    compiles_itself: bool = False
    is_rocketns: bool = False


def _properties(launch: Launch) -> Path:
    path = launch.home / "namesrv.properties"
    settings = {"listenPort": launch.port, "bindAddress": "127.0.0.1", "kvConfigPath": launch.home / "kvConfig.json",
                "serverChannelMaxIdleTimeSeconds": IDLE_S, QUEUE: QUEUE_CAPACITY}  # fmt: skip
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
    return path


def _rocketns(reactors: int | None, launch: Launch) -> list[str]:
    options = [] if reactors is None else ["--reactors", str(reactors)]
    return [sys.executable, "-m", "rocketns", f"-Duser.home={launch.home}", *options, "-c", str(_properties(launch))]


def _java(launch: Launch) -> list[str]:
    # The last -Xmx counts.
    options = [f"-Xmx{launch.java_heap_mb}m", f"-Duser.home={launch.home}"]
    return [*JavaNameServer.program(options), "-c", str(_properties(launch))]


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


def _least(launch: Launch) -> list[str]:
    path = launch.home / "body"
    path.write_bytes(launch.body)
    return [str(programs.compiled("leastns")), str(launch.port), str(path)]


@functools.cache
def has_reactors() -> bool:
    """Whether this rocketns knows --reactors."""
    said = subprocess.run([sys.executable, "-m", "rocketns", "-h"], capture_output=True, text=True, check=True)
    return "--reactors" in said.stdout


def _needs_reactors() -> None:
    if not has_reactors():
        raise CellFailed("this rocketns has no --reactors")


def _prepare_java() -> None:
    if missing := missing_tools():
        raise CellFailed(f"not found on the PATH: {', '.join(missing)}")
    JavaNameServer.program()


def _rocketns_kind(key: str, label: str, reactors: int) -> Kind:
    return Kind(key, label, functools.partial(_rocketns, reactors), _needs_reactors, is_rocketns=True)


def all_kinds() -> dict[str, Kind]:
    """By key, in the order of the tables."""
    asyncio = functools.partial(_rocketns, 0 if has_reactors() else None)
    kinds = (
        _rocketns_kind(ROCKETNS, "rocketns", 1),
        _rocketns_kind(REACTORS_2, "rocketns, 2 reactors", 2),
        Kind(ASYNCIO, "rocketns, asyncio only", asyncio, lambda: None, is_rocketns=True),
        Kind(JAVA, "Java 5.5.0", _java, _prepare_java, compiles_itself=True),
        Kind(RUST, "Rust 1.0.0", _rust, programs.rust_name_server),
        Kind(LEAST, "least possible", _least, functools.partial(programs.compiled, "leastns")),
    )
    return {kind.key: kind for kind in kinds}
