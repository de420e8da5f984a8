"""Pages of docs/ that are made from the code: ``python -m tests.check.pages`` writes them again."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import Field
from pathlib import Path
from typing import Any

from rocketns import cli
from rocketns.admin.metrics.exposition import CUT, CUT_MEANING, SERIES_MAX
from rocketns.admin.metrics.table import THEMES, Family
from rocketns.config import Configuration, properties
from rocketns.config.checks import BLACK_LIST, OPERATORS_PREFIXES, TEXT_BYTES_MAX
from rocketns.config.properties import OwnConfig
from rocketns.config.system import SYSTEM_PROPERTIES, SystemProperty
from rocketns.config.tls import TLS_PROPERTIES
from rocketns.server.control.measures import BOUNDS_S
from rocketns.shadow.status import METRICS as OF_THE_SHADOW
from rocketns.shadow.status import ShadowMetric
from tests.check.source import ROOT

PROPERTIES = f"""Made from the code by `python -m tests.check.pages`; a test compares.
`rocketns --help` prints the same.

The properties of the name server and of the sockets are those of RocketMQ 5.5.0, with Java's names and defaults.
`rocketns.…` and `journal…` properties are rocketns' own. All of them are read from the file that `-c` names, in the
format of `java.util.Properties`.

- A number out of its range, or a text that is no number, stops the start with exit status 255 and a message that names
  the property and has the text in quotes. An empty text is the default, in Java's properties. At SIGHUP such a file
  changes nothing.
- In Java's properties any text but `true` is false, as in Java, and the log names it. In rocketns' own it stops the
  start.
- Commas, semicolons and blanks separate the items of a list, in every property: also in `configBlackList` and
  `rocketmq.namesrv.addr`, where Java takes semicolons alone, and in `tls.ciphers` and `tls.protocols`, where it takes
  commas alone. An item that cannot be what the property lists, such as a network among hosts with ports, stops the
  start with exit status 255 and a message that names the property and the item. At SIGHUP it changes nothing, and the
  log names it. An IPv6 address may have brackets or none, and its port is behind the last colon.
- After the line "boot success" the log names each property that is accepted and not used, and each name of the file
  that rocketns does not know, with the nearest known name. Of `-D` only names that begin with `rocketns.`, `journal` or
  `tls.` are named: others may be for the JVM.

**Changes at run time.** Any peer can send request 318 (`mqadmin updateNamesrvConfig`). It is answered as by Java, and
the new value is applied and shown. The last column says which values are also written to the file. For any other value
the file keeps the old one, and the log names the property.

- Refused with code 16, because only the operator may set them, in the file:
  {", ".join(f"`{name}`" for name in BLACK_LIST)}, the names in `configBlackList`, the journal's properties, and names
  that begin with {" or ".join(f"`{prefix}`" for prefix in OPERATORS_PREFIXES)}.
- Refused with code 1: a value with a control character, and a text of more than {TEXT_BYTES_MAX // 1024} KiB.
"""


METRICS_HEAD = ("Metric", "Type", "Meaning", "Labels")
BOUNDS = ", ".join(f"{bound:g}" for bound in BOUNDS_S)
METRICS = f"""## Metrics

Made from the code by `python -m tests.check.pages`; a test compares.

`GET /metrics` answers in Prometheus' text format. Units are seconds and bytes. Counters begin with 0 at the start of
the process. Histograms of times have these upper bounds, in seconds: {BOUNDS}.

No label has names of topics, brokers or clients, so the number of series does not grow with them. More than
{SERIES_MAX} series of one metric are left out, and `{CUT}` counts that. All who ask within a second get the same text.

What is counted costs the reactors nothing but the lookups that are measured, about one in 64. Counting begins at the
start of the server and only where `rocketns.adminPort` is set.
"""

SHADOW = """
### The shadow

`GET /metrics` of `rocketns shadow --status` has these instead of those above.
"""

PROCESS = """
### The process and Python

From the client library: `process_cpu_seconds_total`, `process_resident_memory_bytes`, `process_virtual_memory_bytes`,
`process_start_time_seconds`, `process_open_fds`, `process_max_fds`, `python_info`, `python_gc_objects_collected_total`,
`python_gc_objects_uncollectable_total`, `python_gc_collections_total`.
"""


# What is between these on a page is made, the rest is written by hand.
BEGIN, END = "<!-- made from the code: begin -->", "<!-- made from the code: end -->"

FOLDERS = """\
# Folders

For maintainers: find the folder that holds something. `python -m tests.check.pages` makes this page from the first line
of each `__init__.py`.

"""


def properties_page(name: str) -> str:
    """Every option and property."""
    configuration = Configuration.build(home=Path("~"))
    sections = (
        ("Options of the command line", _table(("Option", "Meaning"), _options())),
        ("Exit status", _table(("Status", "Meaning"), ((str(status), doc) for status, doc in cli.EXIT_STATUSES))),
        ("Signals", _table(("Signal", "Effect"), cli.SIGNALS)),
        ("Name server", _properties(configuration.namesrv)),
        ("Sockets", _properties(configuration.netty)),
        *((own.title, _own_properties(own)) for own in configuration.own()),
        ("System properties", _system_properties(SYSTEM_PROPERTIES)),
        ("TLS", _system_properties(TLS_PROPERTIES)),
    )
    made = "".join(f"\n## {title}\n\n{table}\n" for title, table in sections)
    return _with(name, PROPERTIES + made)


def _with(name: str, made: str) -> str:
    """The page with this in the place of what is between its marks."""
    before, rest = (ROOT / name).read_text("utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n{made}{END}{rest.split(END)[1]}"


def _options() -> Iterator[tuple[str, str]]:
    for action in cli.parser()._actions:
        value = "" if action.nargs == 0 else f" {action.metavar}"
        names = ", ".join(f"`{name}{value}`" for name in action.option_strings)
        yield names, action.help or ""


COLUMNS = ("Property", "Default", "Unit", "Range", "Meaning", "At the limit", "A change takes effect")


def _properties(config: Any) -> str:
    rows = ((*_cells(config, name, one), _written(name, one)) for name, one in properties.declared(config).items())
    return _table((*COLUMNS, "318 writes"), rows)


def _own_properties(own: OwnConfig) -> str:
    return _table(COLUMNS, (_cells(own, name, one, own.prefix) for name, one in properties.declared(own).items()))


def _cells(config: Any, name: str, declaration: Field[Any], prefix: str = "") -> tuple[str, ...]:
    metadata = declaration.metadata
    bounds = "true, false" if declaration.type == "bool" else properties.bounds_text(declaration)
    value = getattr(config, declaration.name)
    default = "" if value in (None, "") else f"`{properties.show(value)}`"
    name, effect = f"`{prefix}{name}`", metadata["effect"].value
    return name, default, metadata["unit"], bounds, metadata["doc"], metadata["at_limit"], effect


def _written(name: str, declaration: Field[Any]) -> str:
    stored = declaration.metadata["stored"]
    if isinstance(stored, tuple):
        return f"{stored[0]} to {stored[1]}"
    return "any value" if stored and name not in BLACK_LIST else "nothing"


def _system_properties(listed: Iterable[SystemProperty]) -> str:
    rows = ((f"`{name}`", default if " " in default else f"`{default}`" * bool(default), doc)
            for name, default, doc in listed)  # fmt: skip
    return _table(("Property", "Default", "Meaning"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)


def metrics_page(name: str) -> str:
    """Every metric."""
    tables = {title: _table(METRICS_HEAD, _rows(families)) for title, families in THEMES.items()}
    themes = "".join(f"\n### {title}\n\n{table}\n" for title, table in tables.items())
    cut = f"`{CUT}` (counter): {CUT_MEANING}\n"
    shadow = _table(METRICS_HEAD, _rows(OF_THE_SHADOW))
    return _with(name, f"{METRICS}{themes}\n{cut}{SHADOW}\n{shadow}\n{PROCESS}")


def _rows(families: Iterable[Family | ShadowMetric]) -> Iterator[tuple[str, ...]]:
    for family in families:
        labels = "<br>".join(f"`{name}`: {values}" for name, values in family.labels.items())
        yield f"`{family.name}`", str(family.kind), family.meaning, labels


def folders_page(_: str) -> str:
    """Every folder of rocketns, by the first line of its ``__init__.py``."""
    packages = sorted((ROOT / "rocketns").rglob("__init__.py"))
    rows = ((f"`{path.parent.relative_to(ROOT)}/`", _first_line(path)) for path in packages)
    return FOLDERS + _table(("Folder", "Holds"), rows) + "\n"


def _first_line(path: Path) -> str:
    said = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert said, f"{path}: say in its first line what the folder holds"
    return said.partition("\n\n")[0].replace("\n", " ").replace("``", "`").replace("|", "/")


# Chinese pages have the same tables, in English.
PAGES: dict[str, Callable[[str], str]] = {
    "docs/properties.md": properties_page,
    "docs/zh/properties.md": properties_page,
    "docs/monitoring.md": metrics_page,
    "docs/zh/monitoring.md": metrics_page,
    "docs/design/folders.md": folders_page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (ROOT / name).write_text(page(name), "utf-8")
