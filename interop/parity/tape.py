"""Recorded answers of the Java name server: text files below tests/golden, one for each group of scenarios.

``= name form number`` begins a scenario. Each line after it is one outcome, behind the number of its step: ``json`` and
``rocketmq`` are answers in that encoding (header, tab, body), ``many`` says how many lines belong together. Bytes that
are not printable ASCII are escaped as Python does it. A header or body that comes often is written once, at the top, as
``$1 …``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from interop.harness.wire import JSON, ROCKETMQ, frame
from interop.parity.language import Form
from interop.parity.servers import Outcome
from rocketns.shadow.frames import split

FOLDER = Path(__file__).parents[2] / "tests" / "golden"
KINDS = {JSON: "json", ROCKETMQ: "rocketmq"}
OFTEN, LONG = 3, 60
Found = Outcome | list[Outcome] | str


@dataclass
class Tape:
    """What Java did in one play, in order: read, or written while ``recording``."""

    name: str
    form: Form
    number: int
    lines: list[str] = field(default_factory=list)
    recording: bool = False
    at: int = 0

    def note(self, step: int, found: Found) -> None:
        """Append an outcome."""
        self.lines += [f"{step} {line}" for line in _written(found)]

    def next(self, step: int, kind: type[Found]) -> Found:
        """The next outcome, which is of this step. AssertionError if it is not: record the scenario again."""
        line = self._line(step)
        if kind is str:
            return _bytes(line.removeprefix("text ")).decode()
        if kind is Outcome:
            return _outcome(line)
        return [_outcome(self._line(step)) for _ in range(int(line.removeprefix("many ")))]

    def _line(self, step: int) -> str:
        number, _, line = (self.lines[self.at] if self.at < len(self.lines) else "").partition(" ")
        assert number == str(step), f"{self.name} has no recorded outcome of step {step}: python -m interop.capture"
        self.at += 1
        return line

    def mark(self) -> int:
        return len(self.lines) if self.recording else self.at

    def rewind(self, mark: int) -> None:
        if self.recording:
            del self.lines[mark:]
        self.at = mark


def load(group: str) -> list[Tape]:
    """The recorded plays of a group."""
    shared: dict[str, str] = {}
    tapes: list[Tape] = []
    for line in (FOLDER / f"{group}.txt").read_text("ascii").splitlines():
        first, _, rest = line.partition(" ")
        if first == "=":
            name, form, number = rest.split(" ")
            tapes.append(Tape(name, Form.of(form), int(number)))
        elif first.startswith("$"):
            shared[first] = rest
        else:
            tapes[-1].lines.append(f"{first} " + "\t".join(shared.get(part, part) for part in rest.split("\t")))
    return tapes


def save(group: str, tapes: list[Tape]) -> None:
    counts = Counter(part for tape in tapes for line in tape.lines for part in _parts(line))
    often = [part for part, count in counts.items() if count >= OFTEN and len(part) >= LONG]
    names = {part: f"${number}" for number, part in enumerate(often, 1)}
    lines = [f"{name} {part}" for part, name in names.items()]
    for tape in tapes:
        lines.append(f"= {tape.name} {tape.form} {tape.number}")
        lines += [f"{one.partition(' ')[0]} " + "\t".join(names.get(p, p) for p in _parts(one)) for one in tape.lines]
    (FOLDER / f"{group}.txt").write_text("\n".join(lines) + "\n", "ascii")


def _parts(line: str) -> list[str]:
    return line.partition(" ")[2].split("\t")


def _written(found: Found) -> list[str]:
    if isinstance(found, str):
        return [f"text {_text(found.encode())}"]
    if isinstance(found, Outcome):
        return [_line(found)]
    return [f"many {len(found)}", *map(_line, found)]


def _line(outcome: Outcome) -> str:
    if outcome.kind != "answer":
        return outcome.kind
    kind, header, body = split(outcome.frame)
    return f"{KINDS[kind]} {_text(header)}" + (f"\t{_text(body)}" if body else "")


def _outcome(line: str) -> Outcome:
    kind, _, rest = line.partition(" ")
    if not rest:
        return Outcome(kind)
    header, _, body = rest.partition("\t")
    return Outcome("answer", frame(_bytes(header), _bytes(body), ROCKETMQ if kind == "rocketmq" else JSON))


def _text(data: bytes) -> str:
    return data.decode("latin-1").encode("unicode_escape").decode("ascii")


def _bytes(text: str) -> bytes:
    return text.encode("ascii").decode("unicode_escape").encode("latin-1")
