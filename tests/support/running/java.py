"""Whether this machine has a Java runtime."""

from __future__ import annotations

import os
import shutil


def has_java() -> bool:
    """Whether Spark would find one: in JAVA_HOME, otherwise on the PATH."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin" if home else None) is not None
