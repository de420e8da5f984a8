"""Reads the text of a policy's file, or gives the text of its refusal."""

from __future__ import annotations

from rocketns.access.policy import Policy
from rocketns.access.reading import plain_acl
from rocketns.access.reading.errors import PolicyError
from rocketns.access.reading.policy_file import read_policy


def read(text: str, others: str = "") -> Policy | str:
    """The policy, or the refusal's text. ``others``: what each file that it names has."""
    try:
        return read_policy("policy.toml", text, lambda _path: others)
    except PolicyError as error:
        return str(error)


def read_acl(text: str) -> str:
    """ "" or the refusal's text."""
    try:
        plain_acl.read("plain_acl.yml", text)
    except PolicyError as error:
        return str(error)
    return ""
