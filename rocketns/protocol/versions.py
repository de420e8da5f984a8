"""The versions of RocketMQ: their numbers in headers (ordinals of Java's MQVersion.Version), and what answers say."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.protocol.codes import V5_5_0, V5_5_1, VERSION_ORDINALS

V4_0_0_SNAPSHOT = 212  # from here on each version has two ordinals, and each minor version ten versions


@dataclass(frozen=True)
class Release:
    """What differs between the answers of Java's releases.

    ``version`` is MQVersion.CURRENT_VERSION, which every header has. ``faq`` is FAQUrl.APPLY_TOPIC_URL, which the
    remark of TOPIC_NOT_EXIST names.
    """

    version: int
    faq: str


# By the texts of the property `rocketns.compatibleVersion`.
RELEASES = {
    "5.5.0": Release(V5_5_0, "https://rocketmq.apache.org/docs/bestPractice/06FAQ"),
    "5.5.1": Release(V5_5_1, "https://rocketmq.apache.org/docs/faq/"),
}


def version_name(number: int) -> str:
    """``5.5.0`` for 513, ``4.9.4-SNAPSHOT`` for 400. The versions before 4.0.0 have no such order."""
    if number < V4_0_0_SNAPSHOT:
        return "before 4.0.0"
    if number >= VERSION_ORDINALS - 1:
        return "after 5.9.9"
    major_minor, patch = divmod((number - V4_0_0_SNAPSHOT) // 2, 10)
    name = f"{4 + major_minor // 10}.{major_minor % 10}.{patch}"
    return name if number % 2 else f"{name}-SNAPSHOT"
