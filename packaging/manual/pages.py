"""Which manual pages there are, and their sections."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import programs
from docutils import nodes

from manual import parsers, texts
from rocketns import __version__

EXAMPLES_MAX = 6
COMMAND = "rocketns"
SERVER = "mqnamesrv"
ABOUT = "name server for Apache RocketMQ, and tools for name servers"
ABOUT_SERVER = "the name server of rocketns, in place of RocketMQ's Java NameServer"
STARTS = (
    "Without a command it is the name server, with the options and properties of mqnamesrv(1), which is the same "
    "program. The first word chooses one of the commands below. They work with the name servers of Java, too."
)
BELOW = "Properties that a text calls below are in mqnamesrv(1)."
FILES = (
    ("~/namesrv/kvConfig.json", "the KV configuration, in Java's format; kvConfigPath names another file"),
    ("~/namesrv/namesrv.properties", "properties that request 318 changed, where -c names no file"),
    ("~/logs/rocketmqlogs/namesrv.log", "the log, with --log-files"),
    ("/etc/rocketns/namesrv.properties", "the properties of the service in the Debian package"),
)


@dataclass(frozen=True)
class Page:
    """One page of section 1."""

    name: str
    about: str
    sections: tuple[nodes.section, ...]


def pages() -> Iterator[Page]:
    """All of them, and no two with the same name."""
    others = [*programs.tool_parsers(), *programs.PROGRAMS]
    yield overview(others)
    yield server(others)
    yield from (page(program) for program in others)


def overview(others: Sequence[programs.Program]) -> Page:
    """rocketns(1): the server's options in short, and the commands."""
    made = programs.server()
    listed = texts.definitions([(f"{COMMAND}-{program.word}(1)", program.about) for program in others])
    line = nodes.paragraph("", "", nodes.strong("", COMMAND), nodes.Text(" COMMAND [ARGUMENTS]"))
    return Page(
        COMMAND,
        ABOUT,
        (
            section("Synopsis", parsers.usage(made, COMMAND), line),
            section("Description", *texts.prose(made.description or ""), nodes.paragraph("", STARTS)),
            section("Commands", listed),
            section(
                "Options of the name server",
                nodes.paragraph("", BELOW),
                *parsers.arguments(made, parsers.shown(made)),
            ),
            *(found for found in epilog(made) if title(found) in ("Exit status", "Signals")),
            *examples(COMMAND, programs.SERVER_PAGES, r"rocketns -.*"),
            see_also([f"{SERVER}(1)", *(f"{COMMAND}-{program.word}(1)" for program in others)], ("",)),
        ),
    )


def server(others: Sequence[programs.Program]) -> Page:
    """mqnamesrv(1): the name server with every property."""
    made = programs.server()
    return Page(
        SERVER,
        ABOUT_SERVER,
        (
            section("Synopsis", parsers.usage(made, SERVER)),
            section("Description", *texts.prose(made.description or "")),
            section("Options", *parsers.arguments(made, parsers.shown(made))),
            *epilog(made),
            section("Files", texts.definitions(FILES)),
            *examples(COMMAND, programs.SERVER_PAGES, r"(?:rocketns|mqnamesrv) -.*"),
            see_also([f"{COMMAND}(1)", *(f"{COMMAND}-{program.word}(1)" for program in others)], programs.SERVER_PAGES),
        ),
    )


def page(program: programs.Program) -> Page:
    """The page of a command."""
    made, prog = program.parser(), f"{COMMAND} {program.word}"
    below = parsers.children(made)
    shared = parsers.common(below.values())
    first = next(iter(below.values()), made)
    of_all = [action for action in parsers.shown(first) if parsers.key(action) in shared]
    own_options = [action for action in parsers.shown(made) if parsers.key(action) not in shared]
    ends = list(epilog(made))
    shown = any(title(found) == "Examples" for found in ends) or f"\n{prog} " in (made.description or "")
    own = [] if shown else examples(program.word, (program.page,))
    return Page(
        f"{COMMAND}-{program.word}",
        program.about,
        (
            section("Synopsis", parsers.usage(made, prog)),
            section("Description", *parsers.described(made, program.about)),
            *filled("Commands", parsers.commands(made, prog)),
            *filled("Options of all commands", parsers.arguments(first, of_all)),
            *filled("Options", parsers.arguments(made, own_options)),
            *ends,
            *own,
            see_also([f"{COMMAND}(1)"], (program.page,)),
        ),
    )


def section(name: str, *content: nodes.Element) -> nodes.section:
    return nodes.section("", nodes.title("", name), *content)


def filled(name: str, content: Sequence[nodes.Element]) -> list[nodes.section]:
    """A section, if it would hold something."""
    return [section(name, *content)] if content else []


def title(found: nodes.section) -> str:
    return found[0].astext()


def epilog(parser: argparse.ArgumentParser) -> Iterator[nodes.section]:
    """What the help says at its end: examples, exit statuses, properties. What a heading has in brackets is a line."""
    for name, lines in texts.blocks(parser.epilog or ""):
        short, _, more = name.removesuffix(")").partition(" (")
        yield section(short, *([nodes.paragraph("", f"{more}.")] if more else []), *texts.indented(lines))


def examples(word: str, names: Sequence[str], pattern: str = "") -> list[nodes.section]:
    """The command lines of its documents."""
    wanted = re.compile(rf"^ {{4}}(?P<line>{pattern or f'rocketns {word}(?: .*)?'})$", re.M)
    found = [match["line"].strip() for name in names for match in wanted.finditer(document(name))]
    lines = [re.sub(r" {2,}#.*", "", line) for line in dict.fromkeys(found)][:EXAMPLES_MAX]
    return filled("Examples", [texts.literal(*lines)] if lines else [])


def document(name: str) -> str:
    return (programs.ROOT / "docs" / f"{name}.md").read_text("utf-8")


def see_also(others: Sequence[str], names: Sequence[str]) -> nodes.section:
    documents = [f"docs/{name}.md" for name in names if name] or ["README.md"]
    files = f"{' and '.join(documents)} of the source of rocketns {__version__}"
    return section("See also", nodes.paragraph("", ", ".join(others)), nodes.paragraph("", files + "."))
