"""``rocketns.compatibleVersion``."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketns.config import CompatibleConfig, Configuration
from rocketns.config.compatible import VERSIONS
from rocketns.errors import StartupError
from rocketns.protocol.versions import RELEASES, version_name


def test_5_5_0_is_the_default(tmp_path: Path) -> None:
    assert Configuration.build(home=tmp_path).compatible.compatible_version == "5.5.0"


def test_every_release_that_may_be_named_has_its_answers() -> None:
    """Each name belongs to the version number that the answers have."""
    assert tuple(RELEASES) == VERSIONS
    assert [version_name(release.version) for release in RELEASES.values()] == list(VERSIONS)


@pytest.mark.parametrize("text", ["5.5", "5.5.2", "4.9.7", "", "515"])
def test_any_other_release_stops_the_start(text: str) -> None:
    with pytest.raises(StartupError, match=f"^rocketns.compatibleVersion is '{text}', but must be 5.5.0 or 5.5.1$"):
        CompatibleConfig().update({"rocketns.compatibleVersion": text})
