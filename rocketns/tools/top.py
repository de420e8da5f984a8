"""`rocketns top`: several name servers side by side, again and again."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from argparse import Namespace
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from rocketns.client.name_server import NameServer, UnusableError
from rocketns.fleet.group_view import GroupView, group_views
from rocketns.tools.output import EXIT_FOUND, Report, TextTable, lines_of, print_report, print_text

# A list of topics costs a Java name server much more than its brokers, so it is asked for every few rounds.
ROUNDS_FOR_TOPICS = 5
CHANGES_SHOWN = 10
CLEAR = "\x1b[H\x1b[2J"  # of a terminal: the cursor goes to the first line, and nothing is left


@dataclass(slots=True)
class Watched:
    """What one name server said last. ``groups`` is None while it cannot be read."""

    server: NameServer
    groups: dict[str, GroupView] | None = None
    topics: int | None = None
    answer_ms: float = 0.0
    trouble: str = ""

    async def read(self, *, with_topics: bool) -> None:
        """Ask for the brokers, and for the topics too."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            self.groups = group_views(await self.server.groups())
            self.answer_ms, self.trouble = (loop.time() - began) * 1000, ""
        except UnusableError as error:
            self.groups, self.topics, self.trouble = None, None, str(error)
            return
        if with_topics:
            try:
                self.topics = len(await self.server.topics())
            except UnusableError:  # some have the list switched off
                self.topics = None


@dataclass(slots=True)
class Top:
    """All name servers, and the latest changes of their brokers."""

    watched: Sequence[Watched]
    changes: deque[tuple[str, str, str]] = field(default_factory=lambda: deque(maxlen=CHANGES_SHOWN))

    async def read(self, round_number: int) -> None:
        """One round."""
        before = [one.groups for one in self.watched]
        with_topics = round_number % ROUNDS_FOR_TOPICS == 0
        await asyncio.gather(*(one.read(with_topics=with_topics or one.topics is None) for one in self.watched))
        for groups, one in zip(before, self.watched, strict=True):
            if groups is not None and one.groups is not None:
                self._note(one.server.addr, groups, one.groups)

    def _note(self, addr: str, before: dict[str, GroupView], after: dict[str, GroupView]) -> None:
        now = datetime.now().astimezone().strftime("%H:%M:%S")
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                what = "gone" if name not in after else "changed" if name in before else "new"
                self.changes.append((now, addr, f"{name} {what}"))

    def report(self) -> Report:
        """For people."""
        servers = [(one.server.addr, one.trouble or "answers", _number(one.groups and len(one.groups)),
                    _number(one.topics), f"{one.answer_ms:.1f}") for one in self.watched]  # fmt: skip
        addrs = tuple(one.server.addr for one in self.watched)
        return [
            TextTable(("NAME SERVER", "STATE", "BROKER GROUPS", "TOPICS", "ANSWER MS"), servers),
            TextTable(("TIME", "NAME SERVER", "CHANGE"), list(self.changes)),
            TextTable(("BROKER", "SAME", *addrs), self._broker_rows()),
        ]

    def _broker_rows(self) -> list[tuple[str, ...]]:
        """Brokers that are not the same everywhere come first."""
        read = [one.groups for one in self.watched if one.groups is not None]
        names = sorted(set().union(*read))
        differing = {name for name in names if len({groups.get(name) for groups in read}) > 1}
        return [
            (name, "no" if name in differing else "yes", *(_cell(one.groups, name) for one in self.watched))
            for name in sorted(names, key=lambda name: name not in differing)
        ]

    def value(self) -> dict[str, Any]:
        """For programs."""
        return {
            one.server.addr: {
                "error": one.trouble or None, "topics": one.topics, "answerMs": round(one.answer_ms, 1),
                "brokers": one.groups and {name: view.as_json() for name, view in sorted(one.groups.items())},
            } for one in self.watched
        }  # fmt: skip


def _number(value: Any) -> str:
    return "-" if value is None else str(value)


def _cell(groups: dict[str, GroupView] | None, name: str) -> str:
    if groups is None:
        return "?"
    return groups[name].members if name in groups else "missing"


async def top(options: Namespace, servers: Sequence[NameServer]) -> int:
    """Show rounds until there were ``options.rounds``, 0 for no end. The exit status. A terminal has the last alone."""
    shown, number = Top([Watched(server) for server in servers]), 0
    while True:
        await shown.read(number)
        number += 1
        if options.json:
            print_text(json.dumps(shown.value()) + "\n")
        elif sys.stdout.isatty():
            columns, rows = shutil.get_terminal_size()
            print_text(CLEAR + "\n".join(line[:columns] for line in islice(lines_of(shown.report()), rows - 1)) + "\n")
        else:
            print_report(shown.report())
        if number == options.rounds:
            return EXIT_FOUND
        await asyncio.sleep(options.interval)
