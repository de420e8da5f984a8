"""No event can be forgotten: type checking fails in each consumer that neither handles nor names it, and in each match
of some of the events that lacks one of them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import pytest
from mypy import api

from rocketns.routeinfo.events import Event
from tests.check.source import ROOT, Source, sources

EVENTS = "rocketns/routeinfo/events.py"
UNION = "Event = (\n    "
CONSUMERS = (
    "rocketns/admin/metrics/tally.py",
    "rocketns/admin/recent/ring.py",
    "rocketns/journal/effects.py",
    "rocketns/server/publishing/eventlog.py",
    "rocketns/server/publishing/min_broker_notifier.py",
    "rocketns/server/publishing/publisher.py",
)


def test_every_event_is_in_the_union_and_is_made() -> None:
    """Consumers are checked against the union only: an event that is not in it would be handled nowhere."""
    tree = Source(EVENTS, (ROOT / EVENTS).read_text("utf-8")).tree
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.decorator_list]
    listed = {event.__name__ for event in get_args(Event)}
    missing = [name for name in classes if name not in listed]
    assert not missing, f"the union Event of {EVENTS} has no {missing}. Next step: add them to it"
    calls = [node for s in sources(ROOT, "rocketns", suffixes=(".py",)) for node in ast.walk(s.tree)]
    matched = {id(node) for case in calls if isinstance(case, ast.match_case) for node in ast.walk(case.pattern)}
    made = {ast.unparse(n.func).rpartition(".")[2] for n in calls if isinstance(n, ast.Call) and id(n) not in matched}
    unmade = [name for name in classes if name not in made]
    assert not unmade, f"no code makes {unmade}. Next step: return them from the mutation in rocketns/routeinfo/"


@pytest.mark.parametrize("name", CONSUMERS)
def test_a_consumer_names_every_event(name: str) -> None:
    """Ignored events are named too, so a reader sees that they are ignored on purpose."""
    text = Source(name, (ROOT / name).read_text("utf-8")).text
    missing = [event.__name__ for event in get_args(Event) if f"{event.__name__}(" not in text]
    assert not missing, f"{name} does not name {missing}. Next step: add them to its match, as handled or as ignored"


def test_type_checking_finds_the_consumers_that_a_new_event_lacks(tmp_path: Path) -> None:
    planted = tmp_path / "events.py"
    text = (ROOT / EVENTS).read_text("utf-8")
    assert text.count(UNION) == 1
    planted.write_text(text.replace(UNION, f"class Novelty:\n    addr: str\n\n\n{UNION}Novelty | "), "utf-8")
    shadow = ["--shadow-file", str(ROOT / EVENTS), str(planted)]
    ring, without_stall = ROOT / CONSUMERS[1], tmp_path / "ring.py"
    handled = '            case e.Stalled(ms):\n                self._add(at, "stall", amount=ms)\n'
    assert ring.read_text("utf-8").count(handled) == 1
    without_stall.write_text(ring.read_text("utf-8").replace(handled, ""), "utf-8")
    shadow += ["--shadow-file", str(ring), str(without_stall)]
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    checked = [str(ROOT / name) for name in CONSUMERS]
    found, errors, _ = api.run([*shadow, *options, "--follow-imports=silent", *checked])
    assert not errors, errors
    lines = [line for line in found.splitlines() if "Novelty" in line and "assert_never" in line]
    assert {name for name in CONSUMERS if any(name in line for line in lines)} == set(CONSUMERS), found
    assert f"{CONSUMERS[1]}:" in found
    assert 'unhandled case for values of type "Stalled"' in found, found
