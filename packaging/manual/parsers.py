"""Options, arguments and commands of a parser as nodes of docutils."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from typing import Any

from docutils import nodes

from manual import texts

Action = argparse.Action
# A name or a group in brackets: neither is divided at the end of a line.
GROUP = re.compile(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]|\([^()]*\)|\{[^{}]*\}|\S+")


def children(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of its commands."""
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}


def abouts(parser: argparse.ArgumentParser) -> dict[str, str]:
    """One line for each of its commands."""
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {action.dest: action.help or "" for action in found[0]._choices_actions} if found else {}


def usage(parser: argparse.ArgumentParser, prog: str) -> nodes.paragraph:
    """The line of usage, the program in bold."""
    plain = parser.usage or formatter(parser)._format_usage(
        None, parser._actions, parser._mutually_exclusive_groups, ""
    )
    words = plain.strip().removeprefix(parser.prog).strip()
    groups = [group.replace(" ", "\u00a0") for group in GROUP.findall(words)]
    return nodes.paragraph("", "", nodes.strong("", prog.replace(" ", "\u00a0")), nodes.Text(" " + " ".join(groups)))


def formatter(parser: argparse.ArgumentParser) -> argparse.HelpFormatter:
    """One whose lines never end. Colours of Python 3.14 are off."""
    parser.color = False
    return argparse.HelpFormatter(prog=parser.prog, width=100_000)


def shown(parser: argparse.ArgumentParser) -> list[Action]:
    """Options and arguments that have a text, without --help and commands."""
    left_out = (argparse._HelpAction, argparse._SubParsersAction)
    return [a for a in parser._actions if not isinstance(a, left_out) and a.help != argparse.SUPPRESS]


def common(parsers: Iterable[argparse.ArgumentParser]) -> set[tuple[str, ...]]:
    """The options that all these parsers have with the same text. None where there is one parser."""
    sets = [{(*a.option_strings, a.help or "") for a in shown(p) if a.option_strings} for p in parsers]
    return set.intersection(*sets) if len(sets) > 1 else set()


def key(action: Action) -> tuple[str, ...]:
    """What `common` compares."""
    return (*action.option_strings, action.help or "")


def arguments(parser: argparse.ArgumentParser, actions: Sequence[Action]) -> list[nodes.Element]:
    """Arguments first, then options, as one list."""
    ordered = sorted(actions, key=lambda action: bool(action.option_strings))
    made = nodes.option_list()
    for action in ordered:
        made += item(parser, action)
    return [made] if ordered else []


def item(parser: argparse.ArgumentParser, action: Action) -> nodes.option_list_item:
    """An option with its value, and what it means."""
    show: Any = formatter(parser)
    value = "" if action.nargs == 0 else show._format_args(action, action.dest.upper())
    group = nodes.option_group()
    for name in action.option_strings or [value]:
        option = nodes.option("", nodes.option_string("", name))
        if action.option_strings and value:
            between = "" if name == "-D" else " "
            option += nodes.option_argument("", value, delimiter=between)
        group += option
    meaning = show._expand_help(action) if action.help else ""
    return nodes.option_list_item("", group, nodes.description("", nodes.paragraph("", meaning)))


def commands(parser: argparse.ArgumentParser, prog: str) -> list[nodes.section]:
    """A section for each command: usage, text, what only it has."""
    below, about = children(parser), abouts(parser)
    shared = common(below.values())
    return [command(made, f"{prog} {name}", about.get(name, ""), shared) for name, made in below.items()]


def described(parser: argparse.ArgumentParser, about: str) -> list[nodes.Element]:
    """Its description. ``about``, its words in a list of commands, may be all that there is."""
    alone = parser.description in (None, about)
    return texts.prose(texts.sentence(about) if alone else parser.description or "")


def command(parser: argparse.ArgumentParser, prog: str, about: str, shared: set[tuple[str, ...]]) -> nodes.section:
    made = nodes.section("", nodes.title("", prog), usage(parser, prog))
    made += described(parser, about)
    made += arguments(parser, [action for action in shown(parser) if key(action) not in shared])
    for title, lines in texts.blocks(parser.epilog or ""):
        made += [nodes.paragraph("", f"{title}:"), *texts.indented(lines)]
    return made
