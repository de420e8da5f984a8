"""The error that ends a command with exit status 2. Its message names the problem and the next step."""

from __future__ import annotations

from rocketns.errors import RocketnsError


class BadInput(RocketnsError):
    """Wrong usage, or input that cannot be read. Only the message is printed."""
