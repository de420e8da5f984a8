"""The archive of Java's class data sharing for RocketMQ's programs, kept beside their jars (`keeping` writes it).

With it a broker, a name server, mqadmin or a client starts in half the CPU time. The classes are the same: if Java or
the jars do not fit the archive, Java loads the classes from the jars.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

# A run with other jars does not use it, and prints no warning about it.
SILENT = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def sharing(class_path: str) -> tuple[str, ...]:
    """Options for a Java with this class path; none if there is no archive for it."""
    kept = archive_of(class_path)
    return (f"-XX:SharedArchiveFile={kept}", *SILENT) if kept is not None and kept.exists() else ()


def archive_of(class_path: str) -> Path | None:
    """The archive file for a folder of jars and the Java on the PATH; it need not exist. None for other class paths."""
    java = shutil.which("java")
    folder = class_path.removesuffix("/*")
    if java is None or folder == class_path or ":" in folder:
        return None
    return Path(folder).with_name(f"loaded-{_identity(Path(java).resolve().parents[1])}.jsa")


def _identity(home: Path) -> str:
    """The version of Java: another release cannot use this one's archive."""
    modules = home / "lib" / "modules"
    stat = modules.stat() if modules.exists() else home.stat()
    return hashlib.sha256(f"{home} {stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()[:16]
