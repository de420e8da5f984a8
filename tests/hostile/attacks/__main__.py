"""``python -m tests.hostile.attacks``: play all attacks, and write the table of docs/security.md.

With ``--kept`` Java's column stays as it is, and no Java is needed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from interop.harness.servers import JavaNameServer, NameServer, RocketnsServer
from tests.hostile.attacks import page
from tests.hostile.attacks.playing import play, start
from tests.hostile.attacks.table import COLUMNS, JAVA, ROWS


def played(kind: type[NameServer], column: str) -> dict[str, str]:
    """Each row's cell of a column."""
    with tempfile.TemporaryDirectory() as folder:
        server = start(kind, Path(folder), column)
        try:
            return {row.name: told(column, row.name, play(row, server, fresh(folder, row.name))) for row in ROWS}
        finally:
            server.stop()


def fresh(folder: str, name: str) -> Path:
    """A folder of its own for the files of an attack."""
    path = Path(folder) / "files" / "".join(filter(str.isalnum, name))
    path.mkdir(parents=True)
    return path


def told(column: str, name: str, cell: str) -> str:
    print(f"{column:10} {name:50} {cell}", flush=True)
    return cell


def main() -> None:
    """Play and write."""
    before = page.table()
    columns = {
        column: {name: cells[JAVA] for name, cells in before.items()}
        if column == JAVA and "--kept" in sys.argv
        else played(JavaNameServer if column == JAVA else RocketnsServer, column)
        for column in COLUMNS
    }
    page.write({row.name: {column: columns[column][row.name] for column in COLUMNS} for row in ROWS})


if __name__ == "__main__":
    main()
