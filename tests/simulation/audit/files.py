"""Writes the journals of simulated disks to a real folder, in the layout of real ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.simulation.disk import Folder
from tests.simulation.nameserver import NameServer


def write_journals(servers: Sequence[NameServer], place: Path) -> int:
    """All journals below one folder, which has ``v=1``. How many files there are."""
    return sum(_write(node, place) for server in servers if isinstance(node := _journal(server), Folder))


def _journal(server: NameServer) -> object:
    return server.disk.folder.names.get("journal")


def _write(folder: Folder, place: Path) -> int:
    written = 0
    place.mkdir(parents=True, exist_ok=True)
    for name, node in folder.names.items():
        if isinstance(node, Folder):
            written += _write(node, place / name)
        else:
            (place / name).write_bytes(node.data)
            written += 1
    return written
