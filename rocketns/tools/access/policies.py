"""Reads a policy from its file, and the files that it names, as the name server does."""

from __future__ import annotations

from pathlib import Path

from rocketns.access.policy import Policy
from rocketns.access.reading.errors import PolicyError
from rocketns.access.reading.policy_file import FILE_BYTES_MAX, read_policy
from rocketns.files import read_text


def policy_at(path: str) -> Policy:
    """The policy of a file. PolicyError if it cannot be used."""
    folder = Path(path).parent
    return read_policy(path, _text(path), lambda name: _text(str(folder / name)))


def _text(path: str) -> str:
    try:
        return read_text(path, FILE_BYTES_MAX)
    except ValueError as error:
        raise PolicyError(path, 0, str(error)) from None
