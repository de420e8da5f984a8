"""Writes the archive that `archive` names: a broker runs once from start to stop."""

from __future__ import annotations

import contextlib
import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path

from interop.harness.process import ProcessFailed
from interop.harness.rocketmq.archive import archive_of
from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.maven import cache_folder, classpath


def keep(version: str) -> None:
    """Archive the classes that a broker of this version loads; the other programs need nearly the same.

    Does nothing if the archive exists or another process writes it, since everything runs without it. Java before 13
    cannot write one.
    """
    kept = archive_of(classpath(version))
    with _first() as first:
        if kept is None or kept.exists() or not first:
            return
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder, contextlib.suppress(ProcessFailed, OSError):
            fresh = Path(folder) / kept.name
            options = (f"-XX:ArchiveClassesAtExit={fresh}", "-Dtls.server.mode=permissive")
            broker = Broker(Path(folder), "loading", "127.0.0.1:1", version=version, options=options)
            broker.stop()
            fresh.rename(kept)


@contextlib.contextmanager
def _first() -> Iterator[bool]:
    """Whether no other process is writing it."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / "loading").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
