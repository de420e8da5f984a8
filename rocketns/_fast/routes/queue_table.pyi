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
    """Write one broker's queues by topic, and return what that changed, in the order of ``queues``.

    ``renamed`` are the topics whose name is not the key; those without a name are left out. Without ``overwrite``
    only topics that the broker has not are written. ``change`` is a named tuple of topic, old queues or None, and new.
    """
