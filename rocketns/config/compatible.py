"""How closely the answers follow RocketMQ's. All name servers of a cluster should have the same."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.config.properties import PREFIX, Effect, OwnConfig, prop
from rocketns.errors import StartupError

# rocketns/protocol/codes.py has what each of them says.
VERSIONS = ("5.5.0", "5.5.1")


@dataclass(slots=True)
class CompatibleConfig(OwnConfig):
    """Which release of RocketMQ the answers follow, and where they are stricter on request."""

    title = "Compatibility with RocketMQ"

    compatible_version: str = prop(
        VERSIONS[0],
        f"the release of RocketMQ that answers follow: {' or '.join(VERSIONS)}. They differ in the version number of "
        "every answer, and in the documentation address in the answer to a lookup of an unknown topic",
        Effect.START,
    )
    check_order_conf: bool = prop(
        False,
        "true: request 100 does not take an order configuration (KV namespace ORDER_TOPIC_CONFIG) that clients cannot "
        "read. Java takes any, and clients then fail at each lookup of the topic",
        Effect.START,
    )

    def check_texts(self) -> None:
        """StartupError for a release that rocketns does not know."""
        if self.compatible_version not in VERSIONS:
            raise StartupError(
                f"{PREFIX}compatibleVersion is {self.compatible_version!r}, but must be {' or '.join(VERSIONS)}"
            )
