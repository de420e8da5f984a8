"""What ends a simulated process, and what ends a simulation."""

from __future__ import annotations


class Crash(BaseException):
    """A process ends at this place in its code. No `except Exception` of the product catches it."""


class Violation(AssertionError):
    """An invariant does not hold."""
