"""docs/design/folders.md: every folder of rocketns, by the first line of its ``__init__.py``.

``python -m tests.check.documents.folders`` writes it again.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tests.check.source import ROOT

PAGE = ROOT / "docs" / "design" / "folders.md"
HEAD = """\
# Folders

`python -m tests.check.documents.folders` makes this page from the first line of each `__init__.py`.

| Folder | Holds |
|---|---|
"""


def page(root: Path = ROOT) -> str:
    """ValueError for a folder whose ``__init__.py`` does not say what it holds."""
    packages = sorted(path for path in (root / "rocketns").rglob("__init__.py"))
    return HEAD + "".join(f"| `{path.parent.relative_to(root)}/` | {_first_line(path)} |\n" for path in packages)


def _first_line(path: Path) -> str:
    said = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    if not said:
        raise ValueError(f"{path}: say in its first line what the folder holds")
    return said.partition("\n\n")[0].replace("\n", " ").replace("``", "`").replace("|", "/")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
