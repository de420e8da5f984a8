"""The file of secrets: an access key and its secret a line, separated by spaces. ``#`` begins a comment line."""

from __future__ import annotations

from collections.abc import Callable

from rocketns.access.reading.errors import PolicyError
from rocketns.access.signing.secret import Secret

# In a policy that `rocketns access suggest` wrote.
TO_BE_FILLED_IN = "<fill in>"
SECRET_CHARACTERS_MIN = 8  # RocketMQ's tools ask for more than 6


def read_secrets(file: str, text: str) -> dict[str, Secret]:
    """The secrets by access key. PolicyError, which does not show the secret."""
    secrets: dict[str, Secret] = {}
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue

        def refuse(why: str, number: int = number) -> None:
            raise PolicyError(file, number, why)

        if len(words) != 2:
            refuse("must be an access key and its secret, separated by spaces")
        add_secret(secrets, words[0], words[1], refuse)
    return secrets


def add_secret(secrets: dict[str, Secret], key: str, secret: str, refuse: Callable[[str], object]) -> None:
    """Add one. ``refuse`` is called with what is wrong with it, and raises."""
    if key in secrets:
        refuse(f"the access key {key!r} is there twice")
    if secret == TO_BE_FILLED_IN:
        refuse(f"the secret of {key!r} is still to be filled in")
    if len(secret) < SECRET_CHARACTERS_MIN:
        refuse(f"the secret of {key!r} has less than {SECRET_CHARACTERS_MIN} characters")
    secrets[key] = Secret(secret)
