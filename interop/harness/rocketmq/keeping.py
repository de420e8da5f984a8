"""Writes the archive that `archive` names: a broker runs once from start to stop."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from interop.harness.process import ProcessFailed
from interop.harness.rocketmq.archive import archive_of
from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.maven import alone, classpath


def keep(version: str) -> None:
    """Archive the classes that a broker of this version loads; the other programs need nearly the same.

    Everything runs without the archive, too. Java before 13 cannot write one.
    """
    kept = archive_of(classpath(version))
    if kept is None or kept.exists():
        return
    with alone(), tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        if kept.exists():
            return
        fresh = Path(folder) / kept.name
        options = (f"-XX:ArchiveClassesAtExit={fresh}", "-Dtls.server.mode=permissive")
        with contextlib.suppress(ProcessFailed, OSError):
            Broker(Path(folder), "loading", "127.0.0.1:1", version=version, options=options).stop()
            fresh.rename(kept)
