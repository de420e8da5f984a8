"""What Python callers see of queue_table.pyx."""

from collections.abc import Mapping
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
) -> list[Change]:
    """Write one broker's queues by topic, and return the changes in the order of ``queues``.

    ``renamed`` has the topics whose name is not their key; a topic without a name is left out. Without ``overwrite``,
    topics that the broker has already are left alone. ``change`` is a named tuple: topic, old queues or None, new ones.
    """

def put_known(topics: dict[str, dict[str, Queues]], broker_name: str, queues: dict[str, Queues]) -> None:
    """Write one broker's queues by topic."""

def add_changes(piece: dict[str, list[Change]], topic: str, brokers: dict[str, Queues], change: type[Change]) -> None:
    """Add a topic's queues to the changes of their brokers, as if they were new."""
