"""What may happen to a name server: requests, closed connections, time, snapshots, restarts."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ask:
    """One request on a connection. ``applied``: waiting unregistrations are applied right after it."""

    connection: int
    code: int
    ext: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    version: int = 513
    applied: bool = True


@dataclass(frozen=True)
class Close:
    """A connection ends. ``stalled``: while the server did not run, so its brokers stay, unconfirmed."""

    connection: int
    stalled: bool = False


@dataclass(frozen=True)
class Pass:
    """Time passes; then brokers that are overdue expire, and the journal's periodic work begins."""

    ms: int


@dataclass(frozen=True)
class Work:
    """So many steps of the journal's waiting work, such as a snapshot."""

    steps: int


@dataclass(frozen=True)
class Switch:
    """A property is changed."""

    name: str
    value: bool


@dataclass(frozen=True)
class Restart:
    """Killed or stopped, and started again."""

    kill: bool = True


Step = Ask | Close | Pass | Work | Switch | Restart
