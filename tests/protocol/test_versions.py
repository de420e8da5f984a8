"""The names of version numbers: those of MQVersion.Version in RocketMQ 5.5.0."""

from __future__ import annotations

import pytest

from rocketns.protocol.versions import version_name


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (-1, "before 4.0.0"),
        (211, "before 4.0.0"),  # V3_9_9
        (212, "4.0.0-SNAPSHOT"),
        (253, "4.2.0"),
        (401, "4.9.4"),
        (411, "4.9.9"),
        (412, "5.0.0-SNAPSHOT"),
        (413, "5.0.0"),
        (475, "5.3.1"),
        (513, "5.5.0"),
        (611, "5.9.9"),
        (612, "after 5.9.9"),  # HIGHER_VERSION
        (2**31 - 1, "after 5.9.9"),
    ],
)
def test_a_version_number_has_javas_name(number: int, name: str) -> None:
    assert version_name(number) == name
