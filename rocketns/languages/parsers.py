"""Options and help in the current language."""

from __future__ import annotations

import argparse
import gettext
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn, TypeVar

from rocketns.languages.texts import ENGLISH, FOLDER, LANGUAGES, N_, OPTION, Texts, choose, language, texts

ARGPARSE = "argparse"  # the domain of argparse's own words
EXIT_USAGE = 2
_ = texts("help")
Made = TypeVar("Made", bound=argparse.ArgumentParser)


class Parser(argparse.ArgumentParser):
    """argparse, but an error says how to get the help of the command."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        hint = _("'%(program)s --help' explains every option.") % {"program": self.prog}
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n{hint}\n")


HELP = N_("language of what people read: en or zh; by default that of LANG")


def add_language_option(parser: argparse.ArgumentParser) -> None:
    """`--language`. `choose` has read it by the time that the parser does."""
    parser.add_argument(OPTION, choices=tuple(LANGUAGES), metavar="LANGUAGE", help=HELP)


def parse(build: Callable[[], argparse.ArgumentParser], arguments: Sequence[str], domain: str) -> argparse.Namespace:
    """Choose the language, build the parser, and parse. SystemExit as of argparse."""
    choose(arguments)
    return translated(build(), domain).parse_args(arguments)


def translated(parser: Made, domain: str) -> Made:
    """The same parser: all that its help and errors say, in the current language."""
    if language() == ENGLISH:
        return parser
    os.environ["LANGUAGE"] = LANGUAGES[language()]  # argparse asks gettext's own functions, which ask for this
    gettext.bindtextdomain(ARGPARSE, FOLDER)
    gettext.textdomain(ARGPARSE)
    for one in each(parser):
        _translate(one, (texts(domain), texts("help"), texts(ARGPARSE)))
    return parser


def each(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser and those of its commands, each once."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                yield from each(command)


def lines(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Texts of the parser alone that people read, for the catalogue. Some epilogs are made of other messages."""
    if parser.description:
        yield parser.description
    for action in _shown(parser):
        if action.help and action.help != argparse.SUPPRESS:
            yield action.help


def _shown(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            yield from action._choices_actions


def _translate(parser: argparse.ArgumentParser, domains: Sequence[Texts]) -> None:
    parser.description = _of(parser.description, domains)
    parser.epilog = _of(parser.epilog, domains)
    for action in _shown(parser):
        action.help = _of(action.help, domains)
    for group in parser._action_groups:
        group.title = _of(group.title, domains)


def _of(text: str | None, domains: Sequence[Texts]) -> str | None:
    """The first domain that has it."""
    if text is None:
        return None
    return next((found for domain in domains if (found := domain(text)) != text), text)
