"""What the audit cannot do, said so that the reader knows what to do about it."""

from __future__ import annotations

from rocketns.errors import RocketnsError


class BadInput(RocketnsError):
    """Wrong usage, or input that cannot be read: exit status 2, and the message is all that is shown."""
