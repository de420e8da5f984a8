"""Who may do what: where the policy is."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.config.properties import Effect, OwnConfig, prop

LIVE, START = Effect.LIVE, Effect.START


@dataclass(slots=True)
class AccessConfig(OwnConfig):
    """The policy is read again when its file changes."""

    title = "Access control"

    access_file: str = prop(
        "", "file with the policy (TOML): who may send which requests; empty is no access control, as in Java. Changes "
        "of the file take effect at once, see docs/security.md", START,
    )  # fmt: skip
