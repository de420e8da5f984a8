"""docs/differences.md and the scenarios agree."""

from __future__ import annotations

import pytest

from interop.parity.comparing.differences import PARTS, Listed, listed, shows
from interop.parity.pairs.starts import STARTS
from interop.parity.scenarios import SCENARIOS

BY_NAME = {name: shows(scenario) for name, scenario in SCENARIOS.items()} | {
    start.name: {start.differs} - {""} for start in STARTS
}


@pytest.mark.parametrize("difference", listed().values(), ids=lambda one: one.id)
def test_a_listed_difference_is_whole_and_shown_by_its_scenarios(difference: Listed) -> None:
    assert set(difference.parts) == set(PARTS)
    assert difference.scenarios
    for name in difference.scenarios:
        assert difference.id in BY_NAME[name], f"{name} has no step that shows {difference.id}"


def test_every_difference_that_a_scenario_shows_is_listed() -> None:
    shown = {(name, one) for name, ids in BY_NAME.items() for one in ids}
    assert shown == {(name, one.id) for one in listed().values() for name in one.scenarios}


def test_a_section_is_read() -> None:
    text = "## A title {#an-id}\n\n- **Java:** does\n  this.\n- **Shown by:** `one`,\n  `two`\n\n## Next {#next}\n"
    found = listed(text)
    assert list(found) == ["an-id", "next"]
    assert found["an-id"].title == "A title"
    assert found["an-id"].parts["Java"] == "does this."
    assert found["an-id"].scenarios == ["one", "two"]
