"""How the relay starts the judge's process."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

# Brokers register every 30 s, and at most every 60 s: until then a name server that started has not heard of them.
SETTLE_S = 60.0


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """``upstream`` and ``reference`` are ``host:port``; ``system`` has the properties of TLS with which both are asked.

    Differences in the first ``settle_s`` after a start of the own half do not count. ``record``: a file for all pairs.
    """

    upstream: str
    reference: str | None = None
    settle_s: float = SETTLE_S
    system: Mapping[str, str] = field(default_factory=dict)
    record: str | None = None
    hash_names: bool = False


def command(options: JudgeOptions) -> list[str]:
    """The arguments of its process, whose standard input is the socket of the pairs."""
    words = [sys.executable, "-m", "rocketns.shadow.judge", "--upstream", options.upstream]
    words += ["--settle", str(options.settle_s)]
    words += ["--reference", options.reference] if options.reference is not None else []
    words += ["--record", options.record] if options.record is not None else []
    words += ["--record-hash-names"] if options.hash_names else []
    return words + [f"-D{name}={value}" for name, value in options.system.items()]
