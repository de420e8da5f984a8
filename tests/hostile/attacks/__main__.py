"""``python -m tests.hostile.attacks``: play all attacks, and write the table of docs/security.md.

With ``--kept`` Java's column stays as it is, and no Java is needed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from interop.harness.servers import JavaNameServer, NameServer, RocketnsServer
from tests.check.source import ROOT
from tests.hostile.attacks.judging import CERTIFICATE, STRANGER, Row, Scene, policy
from tests.hostile.attacks.table import COLUMNS, JAVA, ROWS
from tests.support.certificates import Files, authority
from tests.support.tlsfiles import as_options, tls_properties

PAGE = ROOT / "docs" / "security.md"
HEADING = "## Attacks, and what becomes of them\n"
INTRODUCTION = f"""
`python -m tests.hostile.attacks` plays known attacks to the Java name server and to rocketns, and writes this table. A
test plays them to rocketns with `enforce` again and compares. Each attack is judged by its outcome: whether the file
was written, whether the broker's address left the route, whether the topic lost its write permission.

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


def read_table() -> dict[str, dict[str, str]]:
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


def write_page(cells: Table) -> None:
    """Replace the section, or add it to the page."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    before, _, rest = text.partition(HEADING)
    _, more, after = rest.partition("\n## ")
    PAGE.write_text(f"{before}{HEADING}{text_of(cells)}{more}{after}", "utf-8")


def start(kind: type[NameServer], folder: Path, column: str) -> NameServer:
    """A server of this column: Java's, or rocketns with the policy in this mode. Both accept TLS, too."""
    if kind is JavaNameServer:
        return kind(folder / "ns")
    properties: dict[str, object] = {}
    if column != "off":
        (folder / "access.toml").write_text(policy(column), "utf-8")
        properties["rocketns.accessFile"] = folder / "access.toml"
    return kind(folder / "ns", properties, options=as_options(tls(folder)))


def tls(folder: Path) -> dict[str, str]:
    """The properties of a server that asks for certificates; ``folder/client`` has one that it trusts."""
    signer = authority("authority")
    files = Files.write(folder / "server", signer.issue("server"))
    (folder / "trust.pem").write_bytes(signer.certificate_pem())
    Files.write(folder / "client", signer.issue(CERTIFICATE))
    more = {"need.client.auth": "optional", "authClient": "true", "trustCertPath": str(folder / "trust.pem")}
    return tls_properties(files, **more)


def play(row: Row, server: NameServer, folder: Path) -> str:
    """The text of the row's cell. ``folder`` is for files that the attack wants to be written."""
    with Scene(server, folder) as scene:
        return row.play(scene)


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
    before = read_table()
    columns = {
        column: {name: cells[JAVA] for name, cells in before.items()}
        if column == JAVA and "--kept" in sys.argv
        else played(JavaNameServer if column == JAVA else RocketnsServer, column)
        for column in COLUMNS
    }
    write_page({row.name: {column: columns[column][row.name] for column in COLUMNS} for row in ROWS})


if __name__ == "__main__":
    main()
