"""The section of docs/security.md: read, and written."""

from __future__ import annotations

from collections.abc import Mapping

from tests.check.source import ROOT
from tests.hostile.attacks.policy import STRANGER, policy
from tests.hostile.attacks.table import COLUMNS, ROWS

PAGE = ROOT / "docs" / "security.md"
HEADING = "## Attacks, and what becomes of them\n"
INTRODUCTION = f"""
`python -m tests.hostile.attacks` plays known attacks to the Java name server and to rocketns, and writes this table. A
test plays them to rocketns again and compares. Each attack is judged by its outcome: whether the file was written,
whether the broker's address left the route, whether the topic lost its write permission.

The attacker is at {STRANGER} unless the row says otherwise. Java's column is of the version in its heading. The columns
`off`, `observe` and `enforce` are rocketns with that mode for all classes of requests. In `observe` a request is
answered as in `off`, and reported. This is the policy of `enforce`:

```toml
{policy("enforce").rstrip()}
```

What `enforce` does not stop:

- **A signature that somebody saw**, where its principal is known by the key alone. A signature covers neither the code
  nor a time. It can be sent again, also as another request. Name networks or certificates too, or use TLS, so that
  nobody sees it.
- **What a principal may do.** A broker of the fleet can register more brokers. `broker_names`, `addresses` and
  `takeover` limit it.

Of issue 2935 the release notes of RocketMQ 4.9.0 have only the title, "Simple attack cause broker fail to start". Its
row is a guess: a topic's name that a broker cannot use as a folder's. Issue 3474 is "illegal message attack". A figure
in brackets is a bound that the test checks; Java's was measured.
"""
Table = Mapping[str, Mapping[str, str]]  # name of the row → column → text


def section() -> str:
    """The text below the heading. Empty where the page has none."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    return text.partition(HEADING)[2].partition("\n## ")[0]


def table() -> dict[str, dict[str, str]]:
    """What the page says: name of the row → heading of the column → text."""
    lines = [line for line in section().splitlines() if line.startswith("|")]
    if not lines:
        return {}
    head, _, *found = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {cells[0]: dict(zip(head, cells, strict=True)) for cells in found}


def text_of(cells: Table) -> str:
    """The section with these cells."""
    head = ("Attack", "What is sent", *COLUMNS)
    lines = [head, ("---",) * len(head)]
    lines += [(row.name, row.does, *(cells[row.name][column] for column in COLUMNS)) for row in ROWS]
    return f"{INTRODUCTION}\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write(cells: Table) -> None:
    """Replace the section, or add it to the page."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    before, _, rest = text.partition(HEADING)
    _, more, after = rest.partition("\n## ")
    PAGE.write_text(f"{before}{HEADING}{text_of(cells)}{more}{after}", "utf-8")
