"""What Python callers see of recorded_queues.pyx."""

from collections.abc import Callable
from typing import TypeVar

Queues = TypeVar("Queues")

def read_queues(line: bytes, start: int, read_numbers: Callable[[bytes], Queues | None]) -> dict[str, Queues] | None:
    """The queues by topic of a record whose first entry begins at ``start`` and whose ``topics`` are its last column.

    ``read_numbers`` gets what is behind a name, from its quote to before the brace: ``","r":8,"w":8,"p":6,"s":0``.
    None if the record is written otherwise, or if ``read_numbers`` gave None.
    """
