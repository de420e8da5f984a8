"""Every event of the tables and every message between reactors and control is declared, made and handled.

Type checking finds the consumers that lack an event of the union (assert_never); here is what it cannot see.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_args

import pytest

from rocketns.routeinfo.events import Event
from tests.check.source import CYTHON, ROOT, Source, sources

EVENTS = "rocketns/routeinfo/events.py"
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


def test_no_message_lacks_a_step() -> None:
    found = list(missing_steps(ROOT))
    assert not found, "\n".join(found)


KINDS = "rocketns/_fast/connections/messages.pxd"
STUB = "rocketns/_fast/connections/messages.pyi"
SENDERS = "rocketns/_fast/reactor"
REACTOR = f"{SENDERS}/reactor.pyx"
CONTROL = "rocketns/_fast/connections/delivery.pyx"
RECEIVER = f"{SENDERS}/reactors.pyi"
TRANSPORT = "rocketns/server/reactors/reactor_transport.py"
TO_CONTROL, TO_REACTOR = "# From a reactor to control.", "# To a reactor,"
KIND = re.compile(r"^    ([A-Z_]+) = (\d+)(.*)$", re.MULTILINE)
CIMPORT = re.compile(r"\bcimport (?:\([^)]*\)|.*)")


def missing_steps(root: Path) -> Iterator[str]:
    """One sentence for each step that was forgotten."""
    enum = _text(root, KINDS).partition("Kind:\n")[2].partition("\n\n")[0]
    to_control, to_reactor = (KIND.findall(part) for part in enum.partition(TO_CONTROL)[2].split(TO_REACTOR))
    yield from _not_declared([*to_control, *to_reactor], _text(root, STUB))
    yield from _not_sent([kind for kind, *_ in (*to_control, *to_reactor)], root)
    for kind, *_ in to_control:
        yield from _not_received(kind, root)
    taken = _text(root, REACTOR).partition("void free_pending(")[0]
    for kind, *_ in to_reactor:
        if f"message.kind == {kind}:" not in taken:
            yield f"no reactor takes {kind}. Next step: handle it in handle_message of {REACTOR}"


def _text(root: Path, name: str) -> str:
    return (root / name).read_text("utf-8")


def _not_declared(kinds: Iterable[tuple[str, str, str]], stub: str) -> Iterator[str]:
    by_number = defaultdict(list)
    for kind, number, words in kinds:
        by_number[int(number)].append(kind)
        if "#" not in words and kind != "STOP":
            yield f"{KINDS} does not say what {kind} means. Next step: a comment behind it, with what comes with it"
        if f"    {kind} = ...\n" not in stub:
            yield f"{STUB} has no {kind}. Next step: add it to MessageKind there"
    for number, names in by_number.items():
        if len(names) > 1:
            yield f"{' and '.join(names)} have the number {number} in {KINDS}. Next step: a number that no kind has"


def _not_sent(kinds: Iterable[str], root: Path) -> Iterator[str]:
    """A sender gives the kind to a call, or to a message that it has."""
    code = "\n".join(CIMPORT.sub("", source.text) for source in sources(root, SENDERS, suffixes=CYTHON))
    for kind in kinds:
        if not re.search(rf"(?:\(|, |[^=]= |else ){kind}\b", code):
            yield f"nobody sends {kind}. Next step: new_message and push, or post, in {SENDERS}/"


def _not_received(kind: str, root: Path) -> Iterator[str]:
    called = re.search(rf"if kind == {kind}:\n +receiver\.(\w+)\(", _text(root, CONTROL))
    if called is None:
        yield f"control does not get {kind}. Next step: give it to the receiver in deliver_one of {CONTROL}"
        return
    for name, owner in ((RECEIVER, "Receiver"), (TRANSPORT, "ReactorTransport")):
        methods = _text(root, name).partition(f"\nclass {owner}")[2].partition("\nclass ")[0]
        if f"    def {called[1]}(self" not in methods:
            yield f"{name} has no {called[1]}, which {kind} calls. Next step: a method of {owner} there"
