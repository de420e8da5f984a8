"""rocketns does what the Java name server did in every scenario of interop/parity, as it was recorded.

`python -m interop.capture` records it anew; interop/parity plays the scenarios beside a running Java.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from interop.harness.ports import has_ipv6
from interop.harness.servers import NameServer
from interop.parity import starts
from interop.parity.compare import PARTS, listed, shows
from interop.parity.groups import GROUPS, SCENARIOS, replay
from interop.parity.starts import STARTS, Start
from interop.parity.tape import FOLDER


def _of(group: str) -> object:
    """A worker may have any of them."""
    return pytest.param(group, marks=pytest.mark.xdist_group(f"golden-{group}"))


@pytest.mark.parametrize("group", [_of(group) for group in GROUPS])
def test_rocketns_does_what_java_did(group: str, tmp_path: Path) -> None:
    """The rows that the scenarios name. Steps marked as different must differ, and no others."""
    for found in replay(group, tmp_path):
        assert not found, found


@pytest.mark.parametrize("one", [one for one in STARTS if has_ipv6() or not one.needs_ipv6], ids=lambda one: one.name)
def test_rocketns_starts_as_java_did(one: Start, server_class: type[NameServer], tmp_path: Path) -> None:
    """The rows that the start names."""
    ours = starts.start(one, server_class, tmp_path / "rocketns")
    found = starts.differing(one, starts.recorded()[one.name], ours)
    assert bool(found) == bool(one.differs), f"{one.name}: {found}, listed as {one.differs or 'none'}"


def test_the_list_of_differences_is_what_scenarios_and_starts_show() -> None:
    by_name = {name: shows(scenario) for name, scenario in SCENARIOS.items()}
    by_name |= {one.name: {one.differs} - {""} for one in STARTS}
    shown = {(name, one) for name, ids in by_name.items() for one in ids}
    assert shown == {(name, one.id) for one in listed().values() for name in one.scenarios}
    assert all(set(one.parts) - {"Switch"} == PARTS for one in listed().values())
    assert len(SCENARIOS) == sum(map(len, GROUPS.values())), "two scenarios have one name"


def test_provenance_names_the_server_and_its_jars() -> None:
    provenance = json.loads((FOLDER / "provenance.json").read_text("utf-8"))
    assert (provenance["rocketmq"], provenance["command"]) == ("5.5.0", "python -m interop.capture")
    assert len(provenance["jars"]) == 4


def test_no_recorded_file_names_a_folder_of_the_machine_that_recorded_it() -> None:
    for path in FOLDER.glob("*.txt"):
        assert not re.search(r"(?<![\w:/.])/(tmp|home|root|Users|var)/", path.read_text("utf-8")), path.name
