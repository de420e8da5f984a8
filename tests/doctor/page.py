"""The checks with their examples in docs/doctor.md: ``python -m tests.doctor.page`` writes them again.

Likewise in docs/zh/doctor.md, in Chinese.
"""

from __future__ import annotations

from pathlib import Path

from rocketns.doctor.checks.catalogue import CHECKS
from rocketns.doctor.cli import explained
from rocketns.doctor.finding import State
from rocketns.doctor.output.colours import Palette
from rocketns.doctor.output.text import finding_lines
from rocketns.doctor.running import run
from rocketns.languages import use
from tests.check.source import ROOT
from tests.doctor.examples.faults import EXAMPLES

PAGES = {"en": ROOT / "docs" / "doctor.md", "zh": ROOT / "docs" / "zh" / "doctor.md"}
BEGINNING, END = "<!-- checks: python -m tests.doctor.page -->\n", "<!-- end of checks -->\n"


def section() -> str:
    """All checks in the current language."""
    return "\n".join(_check(check.name) for check in CHECKS)


def _check(name: str) -> str:
    """Its name as heading, what `--explain` says, and the example."""
    example = "\n".join(example_lines(name))
    return f"### {explained(name)}\n```text\n{example}\n```\n"


def example_lines(name: str) -> list[str]:
    """What the doctor prints of the example's fault."""
    report = run(EXAMPLES[name])
    one = next(one for one in report.findings if one.check == name and one.state is State.ILL)
    return list(finding_lines(1, one, Palette(is_on=False)))


def written(language: str) -> str:
    """The page as it should be."""
    text = PAGES[language].read_text("utf-8")
    before, _beginning, rest = text.partition(BEGINNING)
    _old, _end, after = rest.partition(END)
    use(language)
    try:
        return f"{before}{BEGINNING}\n{section()}\n{END}{after}"
    finally:
        use("en")


def main() -> None:
    """Write the pages."""
    for language, path in PAGES.items():
        if Path(path).exists():
            path.write_text(written(language), "utf-8")


if __name__ == "__main__":
    main()
