"""An archive of the Java classes that an audit loads, so that Java need not load and check each of them again.

Java calls it class data sharing (JEP 310, JEP 350). It checks by itself whether an archive was made by this Java for
this class path, and loads classes as usual if not.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

# Java's complaints about an archive that does not fit are switched off: then Java works without it.
QUIET = ("-Xlog:cds*=off", "-Xlog:class+path=off")


def archive_path(java: str) -> Path:
    """In the user's cache folder. ``java`` is what `java -version` says."""
    import pyspark

    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    key = hashlib.sha256(f"{java}\n{pyspark.__version__}\n{pyspark.__file__}".encode()).hexdigest()[:16]
    return Path(cache) / "rocketns" / f"spark-{pyspark.__version__}-{key}.jsa"


def options_to_use(archive: Path) -> tuple[str, ...]:
    """Java's options; none are needed where there is no archive."""
    return (_option("SharedArchiveFile", archive), *QUIET) if archive.is_file() else ()


def options_to_make(archive: Path) -> tuple[str, ...]:
    """Java writes the archive when it ends."""
    return (_option("ArchiveClassesAtExit", archive), *QUIET)


def _option(name: str, archive: Path) -> str:
    return f'"-XX:{name}={archive}"'
