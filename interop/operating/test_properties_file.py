"""The configuration file that request 318 leaves, read by java.util.Properties."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from rocketns.config import properties

PROGRAM = Path(__file__).parents[1] / "java" / "LoadProperties.java"
AWKWARD = (
    "", " ", " a", "a ", "\t", "#", "!", "=", ":", "\\", "\\\\", "\\n", "a=b:c#d!e", "\n", "\r\n", "a\nb=c", "\0", "\f",
    "\x1b[2J", "\x7f", "\x85", "\x9b", "é", "日本", "😀", "\u2028", "\u2029", "\ud800", "\udc00x", "\u202e", "a\\\nb",
    "a\\", "\u00a0a\u00a0",
)  # fmt: skip


def read_by_java(file: Path) -> dict[str, str]:
    shown = subprocess.run(["java", str(PROGRAM), str(file)], check=True, capture_output=True, text=True).stdout
    return dict(tuple(map(from_hex, line.split("="))) for line in shown.splitlines())  # type: ignore[misc]


def from_hex(digits: str) -> str:
    return bytes.fromhex(digits).decode("utf-16-be", "surrogatepass")


def test_java_reads_back_what_was_written(tmp_path: Path) -> None:
    """Awkward texts as keys and as values, and 2,000 random ones."""
    some = random.Random(318)
    alphabet = "".join(AWKWARD) + "abc"
    texts = [*AWKWARD, *("".join(some.choices(alphabet, k=some.randrange(12))) for _ in range(2_000))]
    items = {f"k{number}{text}": text for number, text in enumerate(texts)}
    expected = {_paired(key): _paired(text) for key, text in items.items()}
    file = tmp_path / "written.properties"
    file.write_bytes(properties.dump(items))
    assert read_by_java(file) == expected
    assert properties.load(file.read_bytes()) == expected


def _paired(text: str) -> str:
    """Two halves of a pair that meet are one character, to Java and in a file."""
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
