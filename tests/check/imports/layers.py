"""The import order of rocketns as a rule that can be run on any tree.

[addresses, errors, files, filewriter, javatext, languages, logtext, config] → protocol →
[routeinfo, kvconfig, fleet, client] → access → processor → server → [addressserver, admin] →
[first_routes, namesrv_controller] → [cli, logs] → startup → __main__

Of ``_fast``, whose rooms have an order of their own (system → codec → access → routes → connections → reactor), each
layer may import only certain rooms. ``protocol`` has the codecs, because a codec asks its compiled twin first and
decodes itself what that declines. ``routeinfo`` has the routes, because a registration is 10,000 steps; the journal,
because a start reads millions. ``server`` has all rooms. ``admin`` has the names of the reasons for which reactors
close connections, and ``startup`` sets up the memory allocation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.check.source import Source, sources

ORDER = (
    {"addresses", "errors", "files", "filewriter", "javatext", "languages", "logtext", "config"},
    {"protocol"},
    {"routeinfo", "kvconfig", "fleet", "client"},
    {"access"},
    {"processor"},
    {"server"},
    {"addressserver", "admin"},
    {"first_routes", "namesrv_controller"},
    {"cli", "logs"},
    {"startup"},
    {"__main__"},
)
# Beside the order: what they may import of it, and who may import them.
ALLOWED_BESIDE = {
    "journal": {"errors", "files", "config", "protocol", "routeinfo", "_fast.routes"},
    "pipeline": {"journal", "addresses", "errors", "languages", "collect"},  # collect: for `audit run --name-servers`
    "tools": {
        "addresses",
        "errors",
        "files",
        "languages",
        "logtext",
        "config",
        "protocol",
        "fleet",
        "client",
        "access",
        "processor",
        "journal",
    },
    # Programs of their own: they ask other name servers as a client does, and judge what is answered.
    "collect": ORDER[0] | ORDER[1] | {"routeinfo", "fleet", "client", "kvconfig", "journal", "logs", "tools"},
    "doctor": ORDER[0] | ORDER[1] | {"fleet", "client", "access", "tools"},
    "shadow": ORDER[0] | ORDER[1] | {"", "client", "server", "admin", "processor", "logs", "startup", "tools"},
}
ROOMS = ("system", "codec", "access", "routes", "connections", "reactor")  # each may import those before it
ROOMS_OF = {
    "protocol": {"system", "codec"},
    "routeinfo": {"routes"},
    "server": set(ROOMS),
    "admin": {"connections"},  # the reasons for which reactors close connections
    "startup": {"system"},
}
IMPORTERS_OF_JOURNAL = {"first_routes", "namesrv_controller"}
# The table of records is a contract: the page shows a change in the words of its record.
CONTRACTS = {"admin": "rocketns.journal.record."}
# When its first word asks for one of them; tests/test_cli.py sees that nothing else does.
OTHER_PROGRAMS = {"pipeline", "tools", "collect", "doctor", "shadow"}
IMPORTERS_OF_OTHER_PROGRAMS = {"__main__"}
# `rocketns audit run --name-servers` collects first, as `rocketns collect` does.
PROGRAM_OF_ANOTHER = {"rocketns/pipeline/cli/collecting.py": "rocketns.collect.cli"}

IO_MODULES = {
    "asyncio", "concurrent", "multiprocessing", "queue", "sched", "select", "selectors", "signal", "socket",
    "socketserver", "ssl", "subprocess", "threading", "time",
}  # fmt: skip
FORBIDDEN_MODULES = {
    "protocol": IO_MODULES | {"logging"}, "routeinfo": IO_MODULES, "fleet": IO_MODULES,
    "access": IO_MODULES | {"logging", "pathlib"},
}  # fmt: skip


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
        if name.startswith((CONTRACTS.get(unit, "-"), PROGRAM_OF_ANOTHER.get(source.name, "-"))):
            continue
        if target is not None and target not in allowed:
            yield f"{source.name}:{line}: {unit} may not import {name}"
        elif name.split(".")[0] in FORBIDDEN_MODULES.get(unit, ()):
            yield f"{source.name}:{line}: {unit} has no sockets, clocks or threads, and may not import {name}"


def _unit_of_file(name: str) -> str:
    """``rocketns/protocol/frame.py`` → ``protocol``; ``rocketns/config.py`` → ``config``; the package itself → '';
    ``rocketns/_fast/codec/wire.pyx`` → ``_fast.codec``."""
    parts = [part.split(".")[0] for part in Path(name).parts[1:]]
    if parts[0] == "_fast":
        return ".".join(parts[:2])
    return "" if parts[0] == "__init__" else parts[0]


def _unit_of_import(name: str) -> str | None:
    """The part of rocketns that an import names; '' for names of the package itself, None for everything else.
    Relative imports stay None here: tidy.py refuses them all."""
    parts = name.split(".")
    if parts[0] != "rocketns":
        return None
    if parts[1:2] == ["_fast"]:
        return ".".join(parts[1:3])
    return parts[1] if len(parts) > 1 and not parts[1].startswith("__version") else ""


def _allowed(unit: str) -> set[str] | None:
    """What a part may import of rocketns; None if the order does not know the part."""
    if unit == "":
        return {""}
    if unit.startswith("_fast"):
        return _allowed_in_room(unit)
    if unit in ALLOWED_BESIDE:
        return {unit, *ALLOWED_BESIDE[unit]}
    for place, layer in enumerate(ORDER):
        if unit in layer:
            reached = {""}.union(*ORDER[: place + 1])
            reached |= {f"_fast.{room}" for room in ROOMS_OF.get(unit, ())}
            reached |= {"journal"} if unit in IMPORTERS_OF_JOURNAL else set()
            return reached | OTHER_PROGRAMS if unit in IMPORTERS_OF_OTHER_PROGRAMS else reached
    return None


def _allowed_in_room(unit: str) -> set[str] | None:
    room = unit.partition(".")[2]
    if room == "__init__":
        return set()
    return {f"_fast.{other}" for other in ROOMS[: ROOMS.index(room) + 1]} if room in ROOMS else None
