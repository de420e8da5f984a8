"""The recorded scenarios as text files: a ``name value`` line for each fact, lines of one name joined by a newline.

Header and body are written as text, or as ``.hex`` if they are not printable UTF-8. The frame line holds the
two words before the header (the length, then serialize type and header length), so the bytes can be put together again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from interop.golden.steps import Scenario, Step
from rocketns.shadow.comparing.frames import split

FOLDER = Path(__file__).parents[2] / "tests" / "golden"
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))


def path_of(name: str, release: str = "") -> Path:
    """The file of a scenario: of 5.5.0, or of another ``release``."""
    return FOLDER / release / f"{name}.txt"


def load(name: str, release: str = "") -> Scenario:
    head, *blocks = path_of(name, release).read_text("utf-8").split("\n\n")
    facts = _facts(head)
    properties = dict(line.split("=", 1) for line in facts.get("property", "").splitlines())
    return Scenario(facts["scenario"], facts["shows"], properties, tuple(_step(_facts(block)) for block in blocks))


def save(scenario: Scenario, answers: list[bytes], release: str = "") -> None:
    """Write the scenario with these answers in place of its own."""
    steps = (replace(step, answer=answer) for step, answer in zip(scenario.steps, answers, strict=True))
    path = path_of(scenario.name, release)
    path.parent.mkdir(exist_ok=True)
    path.write_text(rendered(replace(scenario, steps=tuple(steps))), "utf-8")


def rendered(scenario: Scenario) -> str:
    """The text of a scenario's file."""
    lines = [f"scenario {scenario.name}", f"shows {scenario.shows}"]
    lines += [f"property {key}={value}" for key, value in scenario.properties.items()]
    for step in scenario.steps:
        lines += ["", *_step_lines(step)]
    return "\n".join(lines) + "\n"


def _step(facts: dict[str, str]) -> Step:
    return Step(
        facts["step"],
        facts["shows"],
        _frame(facts, "request"),
        _frame(facts, "answer"),
        facts.get("connection", "main"),
        facts.get("until", "").encode(),
        tuple(facts.get("unordered", "").split()),
        "free" in facts,
    )


def _step_lines(step: Step) -> list[str]:
    lines = [f"step {step.name}", f"shows {step.shows}"]
    if step.connection != "main":
        lines.append(f"connection {step.connection}")
    if step.until:
        lines.append(f"until {step.until.decode()}")
    lines += [f"unordered {path}" for path in step.unordered]
    if step.free_remark:
        lines.append("free header.remark")
    return [*lines, *_frame_lines("request", step.request), *_frame_lines("answer", step.answer)]


def _frame_lines(side: str, data: bytes) -> list[str]:
    if not data:
        return [f"{side} none"]
    header, body, _ = split(data)
    return [
        f"{side}.frame {data[:8].hex(' ', 4)}",
        *_text_lines(f"{side}.header", header),
        *_text_lines(f"{side}.body", body),
    ]


def _text_lines(name: str, data: bytes) -> list[str]:
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError:
        return [f"{name}.hex {data.hex()}"]
    if any(character < " " for line in lines for character in line):
        return [f"{name}.hex {data.hex()}"]
    return [f"{name} {line}" for line in lines] if data else []


def _facts(block: str) -> dict[str, str]:
    facts: dict[str, str] = {}
    for line in block.removesuffix("\n").split("\n"):
        name, _, value = line.partition(" ")
        facts[name] = f"{facts[name]}\n{value}" if name in facts else value
    return facts


def _frame(facts: dict[str, str], side: str) -> bytes:
    if side in facts:
        return b""
    return bytes.fromhex(facts[f"{side}.frame"]) + _bytes(facts, f"{side}.header") + _bytes(facts, f"{side}.body")


def _bytes(facts: dict[str, str], name: str) -> bytes:
    if f"{name}.hex" in facts:
        return bytes.fromhex(facts[f"{name}.hex"])
    return facts.get(name, "").encode()
