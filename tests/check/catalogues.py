"""The message catalogues, held to the code: ``python -m tests.check.catalogues`` updates the .po files.

New messages are added without a translation, and messages that the code no longer has are removed. A test fails until
each has its translation.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

from rocketns import cli
from rocketns.admin import recent
from rocketns.admin.api import reasons
from rocketns.collect import arguments as collect
from rocketns.config import NamesrvConfig, NettyServerConfig, properties
from rocketns.config.sections import OWN
from rocketns.config.system import SYSTEM_PROPERTIES
from rocketns.config.tls import TLS_PROPERTIES
from rocketns.doctor import arguments as doctor
from rocketns.languages import parsers
from rocketns.pipeline.cli import arguments as audit
from rocketns.pipeline.cli.verify import ChainDamage
from rocketns.shadow import options as shadow
from rocketns.tools import arguments as tools
from tests.check.source import ROOT

LOCALE = "zh_CN"
FOLDER = ROOT / "rocketns" / "languages" / "locale" / LOCALE / "LC_MESSAGES"
KEYWORDS = {"_": None, "N_": None, "plural": (1, 2)}
TRIMMED = {"trimmed": "true"}
WIDTH = 120  # characters of a line in the files
NAMES = ("Project-Id-Version", "Report-Msgid-Bugs-To", "POT-Creation-Date", "PO-Revision-Date", "Last-Translator",
         "Language-Team", "Generated-By")  # fmt: skip
# Of Babel's header: times, versions and addresses, which would change with each run or are nobody's.
NOT_KEPT = tuple(f'"{name}:'.encode() for name in NAMES)

Message = str | tuple[str, str]  # the second is the plural


@dataclass(frozen=True)
class Domain:
    """One catalogue: the folders or files whose marks it has, the extractor of Babel, and the parsers shown in it."""

    places: tuple[str, ...]
    method: str = "python"
    suffix: str = ".py"
    templates: str = ""  # a folder of Jinja2's
    parsers: tuple[argparse.ArgumentParser, ...] = ()
    more: tuple[str, ...] = ()


STATUS_PAGE = ROOT / "rocketns" / "admin" / "page" / "static" / "index.html"
MARK = "data-text"  # its content is a message
ATTRIBUTES = ("aria-label", "placeholder")


class Markup(HTMLParser):
    """Collects what `translatePage` of the page's scripts translates."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._is_marked = False

    def handle_starttag(self, _: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self._is_marked = MARK in given
        self.texts += [text for name in ATTRIBUTES if (text := given.get(name))]

    def handle_endtag(self, _: str) -> None:
        self._is_marked = False

    def handle_data(self, data: str) -> None:
        if self._is_marked:
            self.texts.append(data)


def page_texts() -> Iterator[str]:
    """All of them."""
    markup = Markup()
    markup.feed(STATUS_PAGE.read_text("utf-8"))
    yield from markup.texts
    for place in (reasons.__file__, recent.__file__):
        for _, message, _, _ in extract_from_file("python", place, keywords={"N_": None}):
            assert isinstance(message, str)
            yield message


def properties_texts() -> Iterator[str]:
    """What `rocketns --help` says of properties, statuses and signals, and the epilogs of other programs."""
    for kind in (NamesrvConfig, NettyServerConfig, *OWN.values()):
        for declaration in properties.declared(kind).values():
            yield from (declaration.metadata[name] for name in ("doc", "unit", "at_limit"))
    yield from (kind.title for kind in OWN.values())
    for one in (*SYSTEM_PROPERTIES, *TLS_PROPERTIES):
        yield one.doc
    yield from (one.default for one in SYSTEM_PROPERTIES if " " in one.default)
    yield from (collect.EXAMPLES, shadow.EPILOG, shadow.EPILOG_REPLAY, tools.EXIT_STATUS)
    for _, doc in (*cli.EXIT_STATUSES, *cli.SIGNALS):
        yield doc


def domains() -> dict[str, Domain]:
    """Every domain but argparse's own words, which are not extracted."""
    shown = (cli.parser(), tools.build(), collect.build(), shadow.parser(), shadow.replay_parser())
    rooms = ("cli.py", "languages", "config", "tools", "collect", "shadow")
    return {
        "doctor": Domain(("doctor",), parsers=(doctor.build(),)),
        "page": Domain(("admin/page/static",), "javascript", ".js", more=tuple(page_texts())),
        "help": Domain(rooms, parsers=shown, more=tuple(properties_texts())),
        "audit": Domain(
            ("pipeline",),
            templates="pipeline/report/templates",
            parsers=(audit.build(),),
            more=(audit.EXAMPLES, *ChainDamage),
        ),
    }


def template(domain: Domain) -> Catalog:
    """All messages of a domain, each with the files that it is in."""
    made = Catalog(LOCALE, header_comment="", charset="utf-8")
    for place in domain.places:
        for path in files(ROOT / "rocketns" / place, domain.suffix):
            for _, message, comments, _ in extract_from_file(domain.method, path, keywords=KEYWORDS):
                made.add(message, locations=[(str(path.relative_to(ROOT)), 0)], auto_comments=comments)
    for path in files(ROOT / "rocketns" / domain.templates, ".html") if domain.templates else ():
        for _, message, comments, _ in extract_from_file("jinja2.ext:babel_extract", path, options=TRIMMED):
            made.add(message, locations=[(str(path.relative_to(ROOT)), 0)], auto_comments=comments)
    for text in (*spoken(domain.parsers), *domain.more):
        if text and not text.isspace():
            made.add(text)
    return made


def files(place: Path, suffix: str) -> Iterable[Path]:
    """The files of a folder, in a fixed order."""
    return [place] if place.is_file() else sorted(place.rglob(f"*{suffix}"))


def spoken(shown: Iterable[argparse.ArgumentParser]) -> Iterator[str]:
    """Every text of the parsers and of their commands."""
    for parser in shown:
        for one in parsers.each(parser):
            yield from (text for text in parsers.lines(one) if text != ARGPARSE_HELP)


ARGPARSE_HELP = next(iter(parsers.lines(argparse.ArgumentParser())))  # of -h, in the domain of argparse


def current(name: str) -> Catalog:
    """The catalogue as it is in its file; an empty one if there is none."""
    path = FOLDER / f"{name}.po"
    if not path.exists():
        return Catalog(LOCALE, header_comment="", charset="utf-8", fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, LOCALE)


def updated(name: str, domain: Domain) -> bytes:
    """The file as it should be but for translations that are missing in it."""
    catalogue = current(name)
    catalogue.update(template(domain), no_fuzzy_matching=True, update_creation_date=False, keep_user_comments=False)
    catalogue.obsolete.clear()
    out = io.BytesIO()
    write_po(out, catalogue, width=WIDTH, include_lineno=False, sort_output=True)
    return b"".join(line for line in out.getvalue().splitlines(keepends=True) if not line.startswith(NOT_KEPT))


def faults(name: str, domain: Domain) -> Iterator[str]:
    """What is wrong with a catalogue: messages without a translation, left over, fuzzy, or with other placeholders."""
    have, want = current(name), template(domain)
    yield from (f"{name}: not in the catalogue: {one.id!r}" for one in want if one.id and one.id not in have)
    for one in have:
        if not one.id:
            continue
        if one.id not in want:
            yield f"{name}: nothing says this any more: {one.id!r}"
        forms = one.string if isinstance(one.string, tuple | list) else (one.string,)
        if not all(forms):
            yield f"{name}: without a translation: {one.id!r}"
        if one.fuzzy:
            yield f"{name}: fuzzy: {one.id!r}"
        yield from (f"{name}: {error}: {one.id!r}" for error in one.check(have) if all(forms))


def main() -> None:
    """Write each file again, and say what is still missing."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, domain in domains().items():
        (FOLDER / f"{name}.po").write_bytes(updated(name, domain))
        found = list(faults(name, domain))
        print(f"{name}.po: {len(template(domain))} messages, {len(found)} faults")


if __name__ == "__main__":
    main()
