"""The journal of one watched name server: boots that begin and end with the watching."""

from __future__ import annotations

from collections.abc import Callable

from rocketns.collect.observing import Observed
from rocketns.config.journal import JournalConfig
from rocketns.routeinfo.events import Event


class ObservedJournal:
    """`restore` once at the start. Then `begin`, `record` and `tick`, and `lost` or `close`; after `lost`, `begin` again.

    ``later(seconds, step)`` calls ``step`` on the same thread after that time. No call waits for the disk but `restore`,
    `lost` and `close`. Times are epoch ms.
    """

    def __init__(
        self, config: JournalConfig, ns: str, observed: Observed, later: Callable[[float, Callable[[], None]], object]
    ) -> None:
        raise NotImplementedError

    def restore(self, epoch_ms: int) -> int | None:
        """Fill the empty tables with the state at the end of the journal, if it is not older than an hour.

        The moment at which the name server was last watched; None: there is no such state. Then `begin` with
        ``restored`` at once, and the first answers have ``since`` of that moment.
        """
        raise NotImplementedError

    def begin(self, epoch_ms: int, *, restored: bool) -> None:
        """A boot begins, with what ``observed`` holds. Read KV items and configuration before it.

        With ``restored`` that is exactly what the records so far give: no route was read since. Without, everything was
        read. FolderInUseError and other errors of the folder are those of `Journal`.
        """
        raise NotImplementedError

    def record(self, events: list[Event], epoch_ms: int, since_ms: int) -> None:
        """What one answer changed, after ``since_ms`` and not later than ``epoch_ms``."""
        raise NotImplementedError

    def tick(self, epoch_ms: int) -> None:
        """About every second: hands records to the writer and begins work that is due."""
        raise NotImplementedError

    def lost(self, epoch_ms: int, since_ms: int) -> None:
        """The name server does not answer; it was last read at ``since_ms``. The boot ends with ``stop``."""
        raise NotImplementedError

    def close(self, epoch_ms: int, since_ms: int) -> None:
        """The collector stops. As `lost`, with a last snapshot."""
        raise NotImplementedError
