"""What RocketMQ's programs load, kept beside their jars as Java's class data sharing has it (`keeping` writes it).

A broker, a name server, mqadmin or a client that starts with it takes half of the CPU time. The classes are the same: a
Java or jars that do not fit what is kept load their own, as without it.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

# A run with other jars does without, and its output is the program's own.
SILENT = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def sharing(class_path: str) -> tuple[str, ...]:
    """Options of a Java that runs with this class path: none where nothing is kept for it."""
    kept = archive_of(class_path)
    return (f"-XX:SharedArchiveFile={kept}", *SILENT) if kept is not None and kept.exists() else ()


def archive_of(class_path: str) -> Path | None:
    """The file for a folder of jars and the Java on the PATH, there or not. None for other class paths."""
    java = shutil.which("java")
    folder = class_path.removesuffix("/*")
    if java is None or folder == class_path or ":" in folder:
        return None
    return Path(folder).with_name(f"loaded-{_identity(Path(java).resolve().parents[1])}.jsa")


def _identity(home: Path) -> str:
    """Of a Java: another release of it cannot use what this one kept."""
    modules = home / "lib" / "modules"
    stat = modules.stat() if modules.exists() else home.stat()
    return hashlib.sha256(f"{home} {stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()[:16]
