"""Runs `rocketns collect`, and the audit that collects itself, as an operator does."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from interop.audit.audited import AUDIT_TIMEOUT_S, SMALL, Audit, audit_of
from interop.harness.process import Process
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from interop.harness.wire import eventually

INTERVAL_S = 2
BEGUN_WITHIN_S = 120.0
FOR = "1m"


@dataclass
class Collector:
    """A running `rocketns collect`; ``journal`` is the folder that it writes."""

    process: Process
    journal: Path

    def stop(self) -> int:
        """SIGTERM; its exit status."""
        return self.process.stop()

    def kill(self) -> int:
        return self.process.kill()


@dataclass
class Live:
    """A running `rocketns audit run --name-servers`; ``out`` is the folder of its results."""

    process: Process
    out: Path

    def ended(self) -> Audit:
        """Wait for its end."""
        return audit_of(self.process.wait(AUDIT_TIMEOUT_S), self.process.text(), self.out)

    def kill(self) -> int:
        return self.process.kill()


def collected(fleet: Fleet, servers: Mapping[str, NameServer]) -> Collector:
    """Watch these name servers under these names; it has read each of them once."""
    home = fleet.folder("collected")
    command = program("collect", "--name-servers", listed(servers), "--journal", str(home / "journal"))
    process = Process([*command, "--interval", f"{INTERVAL_S}s", "--brokers"], home / "stdout.log")
    eventually(lambda: begun(home / "journal") == set(servers), BEGUN_WITHIN_S)
    return Collector(process, home / "journal")


def begun(journal: Path) -> set[str]:
    """The name servers whose journals begin: everything was read once."""
    files = [path for path in journal.glob("v=1/dt=*/ns=*/*") if b'"ev":"start"' in path.read_bytes()]
    return {path.parent.name.removeprefix("ns=") for path in files}


def live(fleet: Fleet, servers: Mapping[str, NameServer]) -> Live:
    """The one-command form over the same servers, until after the cut."""
    home = fleet.folder("live")
    command = program("audit", "run", "--name-servers", listed(servers), "--for", FOR, "--out", str(home / "out"))
    return Live(Process([*command, *SMALL], home / "stdout.log"), home / "out")


def together(home: Path, *journals: tuple[Path, Iterable[str]]) -> Path:
    """A folder with the journals of these name servers from these folders."""
    for folder, names in journals:
        for name in names:
            for day in folder.glob(f"v=1/dt=*/ns={name}"):
                shutil.copytree(day, home / day.relative_to(folder))
    return home


def listed(servers: Mapping[str, NameServer]) -> str:
    """The list as `--name-servers` takes it."""
    return ",".join(f"{name}=127.0.0.1:{server.port}" for name, server in servers.items())


def program(*words: str) -> list[str]:
    """The command line of rocketns."""
    return [sys.executable, "-m", "rocketns", *words]
