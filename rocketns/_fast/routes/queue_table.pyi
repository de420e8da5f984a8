"""What Python callers see of queue_table.pyx."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Queues = TypeVar("Queues")
Change = TypeVar("Change", bound=tuple[str, Any, Any])

def put_queues(
    topics: dict[str, dict[str, Queues]],
    broker_name: str,
    queues: dict[str, Queues],
    renamed: Mapping[str, str | None],
    overwrite: bool,
    change: type[Change],
    added: list[str],
) -> list[Change]:
    """Write one broker's queues by topic, and return the changes in the order of ``queues``.

    ``renamed`` has the topics whose name is not their key; a topic without a name is left out. Without ``overwrite``,
    topics that the broker has already are left alone. ``change`` is a named tuple: topic, old queues or None, new ones.
    Topics that are new to the broker are appended to ``added``.
    """

def change_queues(
    topics: dict[str, dict[str, Queues]],
    broker_name: str,
    names: list[str],
    new_of: Callable[[Queues], Queues],
    change: type[Change],
) -> list[Change]:
    """Replace one broker's queues of these topics, which it has, by what ``new_of`` makes of them.

    Returns those that differ. ``new_of`` is called once for a run of the same object.
    """

def remove_queues(topics: dict[str, dict[str, Queues]], broker_name: str, names: list[str]) -> None:
    """Remove one broker's queues of these topics, which it has, and topics without any queues."""

def keep_unit_topics(changes: list[Change], unit_topics: dict[str, None], flags: int) -> None:
    """Add the topics whose new queues have one of the system flags, and remove the others."""

def routes_of(names: list[str], start: int) -> int:
    """The sum of `broker_topics.routes_of_name` of the names from a place on."""

def put_known(topics: dict[str, dict[str, Queues]], broker_name: str, queues: dict[str, Queues]) -> None:
    """Write one broker's queues by topic."""

def add_changes(piece: dict[str, list[Change]], topic: str, brokers: dict[str, Queues], change: type[Change]) -> None:
    """Add a topic's queues to the changes of their brokers, as if they were new."""

def read_queues(line: bytes, start: int, read_numbers: Callable[[bytes], Queues | None]) -> dict[str, Queues] | None:
    """The queues by topic of a record whose first entry begins at ``start`` and whose ``topics`` are its last column.

    ``read_numbers`` gets what is behind a name, from its quote to before the brace: ``","r":8,"w":8,"p":6,"s":0``.
    None if the record is written otherwise, or if ``read_numbers`` gave None.
    """
