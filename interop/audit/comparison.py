"""Compares what real consumers did with the audit's result; a table is printed at the end of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import pytest

from interop.audit.audited import Row
from interop.audit.deployment import ADDRESSES, ASKS, TOPIC, A, B
from interop.audit.seen import Queues, Stretch, dup_seconds, orphaned_seconds, stretches
from interop.audit.story import SHARED, Story

HEAD = ("", "really seen", "the audit")
ALL = A | B


class Compared:
    """The figures of a story and of its audit, side by side. Times are epoch ms."""

    def __init__(self, story: Story) -> None:
        self.story = story
        rows = story.audit.rows
        windows = [r for r in rows("key_windows") if r["topic"] == TOPIC and r["cause"] == "expired"]
        self.window = windows[0]
        self.opened, self.closed = self.window["t1"] // 1000, self.window["t2"] // 1000
        of_window = [r for r in rows("impact") if r["topic"] == TOPIC and r["t1"] == self.window["t1"]]
        self.impact = {r["assignments"]: r for r in of_window if r["strategy"] == "averagely"}
        self.members = [r for r in rows("group_members") if r["topic"] == TOPIC]
        self.departures = [r for r in rows("departures") if r["broker"] == "broker-b"]
        self.switched = story.first("c2", SHARED)
        self.forgotten = story.first("c1", ALL)

    @property
    def real(self) -> Row:
        """The impact by the members that lookups showed."""
        return self.impact["real"]

    def parts(self, t1: int, t2: int) -> list[Stretch]:
        return list(stretches(self.story.held, t1, t2))

    def lines(self) -> list[tuple[str, str, str]]:
        """What, really seen, the audit."""
        return [HEAD, *self._window(), *self._members(), *self._queues(), *self._messages()]

    def _window(self) -> list[tuple[str, str, str]]:
        silent = (self.story.gone - self.story.cut) / 1000
        told = {v["ns"]: v["present"] for v in self.window["values"]}
        kinds = ", ".join(row["kind"] for row in self.departures)
        return [
            ("n2 without broker-b from", _clock(self.story.gone), f"{_clock(self.opened)}, {self.window['cause']}"),
            ("until", _clock(self.story.back), _clock(self.closed)),
            ("silent before", f"{silent:.1f} s since the cut", f"{self.window['gap'] / 1000:.1f} s since a heartbeat"),
            ("who has broker-b", _who(self.story.shown), _who(told)),
            ("what it was", "a cut between broker-b and n2", kinds),
        ]

    def _members(self) -> list[tuple[str, str, str]]:
        started = ", ".join(f"{ADDRESSES[name]} at {ns}" for name, ns in ASKS.items())
        found = sorted((row["client"].split(":")[0], row["ns"]) for row in self.members)
        audited = ", ".join(f"{address} at {ns}" for address, ns in found)
        return [("members of the group", started, audited)]

    def _queues(self) -> list[tuple[str, str, str]]:
        orphaned, dup = self.lasting()
        whole = self.parts(self.opened, self.closed)
        turns = self.parts(self.forgotten, self.story.healed)
        model = self.impact["model"]
        after = self.parts(self.story.ended - 1, self.story.ended)[0]
        taken = sum(part.t2 - part.t1 for part in turns if part.has["c1"] > A)
        alone = f"taken by c1 {taken / 1000:.1f} of {(self.story.healed - self.forgotten) / 1000:.1f} s"
        return [
            ("nobody has, at first", names(orphaned), names(self.real["orphaned_ids"])),
            ("two have, at first", names(dup), names(self.real["dup_ids"])),
            (f"the orphaned, {self.until_forgotten():.0f} s later", alone, "the same as at first"),
            ("orphaned queue-seconds", f"{orphaned_seconds(whole, ALL):.0f}", _figures(self.real, model, "orphaned")),
            ("queue-seconds twice", f"{dup_seconds(whole, ALL):.0f}", _figures(self.real, model, "dup")),
            ("after healing, nobody has", names(after.orphaned(ALL)), "no window"),
            ("after healing, two have", names(after.dup(ALL)), "no window"),
        ]

    def _messages(self) -> list[tuple[str, str, str]]:
        first: dict[str, int] = {}
        for message in sorted(m for got in self.story.got.values() for m in got):
            first.setdefault(message.text, message.ms)
        waited = max(first[m.text] - m.ms for m in self.story.sent if m.queue in B)
        times = Counter(m.text for got in self.story.got.values() for m in got)
        twice = sum(count > 1 for count in times.values())
        return [
            ("longest wait in broker-b", f"{waited / 1000:.1f} s", "not in the journal"),
            ("messages consumed twice", f"{twice} of {len(self.story.sent)}", "not in the journal"),
        ]

    def lasting(self) -> tuple[Queues, Queues]:
        """The orphaned and the dup of the longest stretch between c2's change of route and broker-b's forgetting it."""
        longest = max(self.parts(self.switched, self.forgotten), key=lambda part: part.t2 - part.t1)
        return longest.orphaned(ALL), longest.dup(ALL)

    def until_forgotten(self) -> float:
        """Seconds from c2's change of route until c1 found itself alone at broker-b."""
        return (self.forgotten - self.switched) / 1000


class Printed:
    """A pytest plugin that prints the comparison, or why there is none."""

    def __init__(self) -> None:
        self.text = ""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("the audit and real consumers")
        terminalreporter.write_line(self.text or "not compared: the story did not come to its end")


def table(lines: Iterable[tuple[str, str, str]]) -> str:
    """A Markdown table with aligned columns; the first line is its head."""
    head, *rest = lines
    width = [max(len(line[place]) for line in (head, *rest)) for place in range(3)]
    shown = [" | ".join(text.ljust(width[place]) for place, text in enumerate(line)) for line in (head, *rest)]
    rule = "|".join("-" * (n + 2) for n in width)
    return "\n".join([f"| {shown[0]} |", f"|{rule}|", *(f"| {line} |" for line in shown[1:])])


def names(queues: Iterable[str]) -> str:
    return " ".join(sorted(queue.removeprefix("broker-").replace(":", "") for queue in queues)) or "none"


def _figures(real: Row, model: Row, loss: str) -> str:
    worst = f"{model[f'{loss}_qs_mean']:.0f} / {model[f'{loss}_qs_max']:.0f}"
    return f"{real[f'{loss}_qs_max']:.0f}; any spread, mean / max: {worst}"


def _who(has: Mapping[str, bool]) -> str:
    return ", ".join(f"{ns} has" if there else f"{ns} has not" for ns, there in sorted(has.items()))


def _clock(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
