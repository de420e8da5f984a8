"""The names of the version numbers in request headers: the ordinals of Java's MQVersion.Version."""

from __future__ import annotations

from rocketns.protocol.codes import VERSION_ORDINALS

V4_0_0_SNAPSHOT = 212  # from here on each version has two ordinals, and each minor version ten versions


def version_name(number: int) -> str:
    """``5.5.0`` for 513, ``4.9.4-SNAPSHOT`` for 400. The versions before 4.0.0 have no such order."""
    if number < V4_0_0_SNAPSHOT:
        return "before 4.0.0"
    if number >= VERSION_ORDINALS - 1:
        return "after 5.9.9"
    major_minor, patch = divmod((number - V4_0_0_SNAPSHOT) // 2, 10)
    name = f"{4 + major_minor // 10}.{major_minor % 10}.{patch}"
    return name if number % 2 else f"{name}-SNAPSHOT"
