"""A policy that cannot be used: in which file and line, and why."""

from __future__ import annotations

from rocketns.errors import RocketnsError


class PolicyError(RocketnsError):
    """The file is refused whole. ``line`` counts from 1; 0 where no line is to blame."""

    def __init__(self, file: str, line: int, why: str) -> None:
        super().__init__(f"{file}, line {line}: {why}" if line else f"{file}: {why}")
