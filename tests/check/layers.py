"""The import order of rocketns as a rule that can be run on any tree.

[errors, files, filewriter, javatext, logtext, config] → protocol (with _fast) → [routeinfo (with _fast), kvconfig]
→ processor → server (with _fast) → controller → [cli, logs, signals] → __main__

``protocol`` knows ``_fast`` because a codec asks its compiled twin first and decodes itself what that declines, and
``routeinfo`` because a registration is 10,000 steps. The other layers before the server have no use for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.check.source import Source, sources

ORDER = (
    {"errors", "files", "filewriter", "javatext", "logtext", "config"},
    {"protocol"},
    {"routeinfo", "kvconfig"},
    {"processor"},
    {"server", "_fast"},
    {"controller"},
    {"cli", "logs", "signals"},
    {"__main__"},
)
# Beside the order: what they may import of it, and who may import them.
ALLOWED_BESIDE = {
    "_fast": set(),
    "journal": {"errors", "config", "protocol", "routeinfo"},
    "pipeline": {"journal", "errors"},
}
IMPORTERS_OF_FAST = {"protocol", "routeinfo"}  # and from the server on, as its place in the order says
IMPORTERS_OF_JOURNAL = {"controller", "__main__"}
IMPORTERS_OF_PIPELINE = {"__main__"}  # when its first word asks for it; tests/test_cli.py sees that nothing else does

IO_MODULES = {
    "asyncio", "concurrent", "multiprocessing", "queue", "sched", "select", "selectors", "signal", "socket",
    "socketserver", "ssl", "subprocess", "threading", "time",
}  # fmt: skip
FORBIDDEN_MODULES = {"protocol": IO_MODULES | {"logging"}, "routeinfo": IO_MODULES}


def violations(root: Path) -> list[str]:
    """``file:line: what is wrong`` for every import in rocketns/ that breaks the order."""
    return [text for source in sources(root, "rocketns") for text in _of_file(source)]


def _of_file(source: Source) -> Iterator[str]:
    unit = _unit_of_file(source.name)
    allowed = _allowed(unit)
    if allowed is None:
        yield f"{source.name}:1: {unit} has no place in the import order"
        return
    for line, name in source.imports:
        target = _unit_of_import(name)
        if target is not None and target not in allowed:
            yield f"{source.name}:{line}: {unit} may not import {name}"
        elif name.split(".")[0] in FORBIDDEN_MODULES.get(unit, ()):
            yield f"{source.name}:{line}: {unit} has no sockets, clocks or threads, and may not import {name}"


def _unit_of_file(name: str) -> str:
    """``rocketns/protocol/frame.py`` → ``protocol``; ``rocketns/config.py`` → ``config``; the package itself → ''."""
    first = Path(name).parts[1]
    unit = first.split(".")[0] if len(Path(name).parts) == 2 else first
    return "" if unit == "__init__" else unit


def _unit_of_import(name: str) -> str | None:
    """The part of rocketns that an import names; '' for names of the package itself, None for everything else.
    Relative imports stay None here: tidy.py refuses them all."""
    parts = name.split(".")
    if parts[0] != "rocketns":
        return None
    return parts[1] if len(parts) > 1 and not parts[1].startswith("__version") else ""


def _allowed(unit: str) -> set[str] | None:
    """What a part may import of rocketns; None if the order does not know the part."""
    if unit == "":
        return {""}
    if unit in ALLOWED_BESIDE:
        return {unit, *ALLOWED_BESIDE[unit]}
    for place, layer in enumerate(ORDER):
        if unit in layer:
            reached = {""}.union(*ORDER[: place + 1])
            if unit in IMPORTERS_OF_FAST:
                reached.add("_fast")
            reached |= {"journal"} if unit in IMPORTERS_OF_JOURNAL else set()
            return reached | {"pipeline"} if unit in IMPORTERS_OF_PIPELINE else reached
    return None
