"""The release of RocketMQ that the name server stands for, as all name servers of a cluster should.

In the configuration file: ``rocketns.compatibleVersion=5.5.1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rocketns.config import properties
from rocketns.config.limits import PREFIX
from rocketns.config.properties import Effect, prop
from rocketns.errors import StartupError

# rocketns/protocol/versions.py has what each of them says.
VERSIONS = ("5.5.0", "5.5.1")


@dataclass(slots=True)
class CompatibleConfig:
    """Whose answers are given."""

    compatible_version: str = prop(
        VERSIONS[0],
        f"the release of RocketMQ whose answers are given: {' or '.join(VERSIONS)}. They differ in the version number "
        "of every answer, and in the address that the answer to a lookup of an unknown topic names",
        Effect.START,
    )

    def update(self, given: Mapping[str, str]) -> None:
        """Read the property. StartupError for a release that rocketns does not know."""
        properties.update_own(self, given, PREFIX)
        if self.compatible_version not in VERSIONS:
            raise StartupError(
                f"{PREFIX}compatibleVersion is {self.compatible_version!r}, but must be {' or '.join(VERSIONS)}"
            )
