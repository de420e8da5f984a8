"""What the name of a folder says about where it is. Nothing here needs Spark."""

from __future__ import annotations


def is_on_this_machine(path: str) -> bool:
    """Whether a path names no other file system. Settings of Hadoop may still give a path without a scheme to one."""
    return "://" not in path or path.startswith("file:")
