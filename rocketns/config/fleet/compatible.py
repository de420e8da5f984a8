"""The release of RocketMQ that the answers follow. All name servers of a cluster should have the same.

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
    """Which release of RocketMQ the answers follow."""

    compatible_version: str = prop(
        VERSIONS[0],
        f"the release of RocketMQ that answers follow: {' or '.join(VERSIONS)}. They differ in the version number of "
        "every answer, and in the documentation address in the answer to a lookup of an unknown topic",
        Effect.START,
    )

    def update(self, given: Mapping[str, str]) -> None:
        """Read the property. StartupError for a release that rocketns does not know."""
        properties.update_own(self, given, PREFIX)
        if self.compatible_version not in VERSIONS:
            raise StartupError(
                f"{PREFIX}compatibleVersion is {self.compatible_version!r}, but must be {' or '.join(VERSIONS)}"
            )
