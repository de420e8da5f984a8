"""Compiles the message catalogues, by Babel: python packaging/catalogues.py FOLDER.

FOLDER gets rocketns/languages/locale/*/LC_MESSAGES/*.mo. The texts of the status page, which a browser shows, are also
in page.json. `setup.py` runs it in each build.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

SOURCES = Path(__file__).resolve().parent.parent / "rocketns" / "languages" / "locale"
OF_BROWSERS = {"page"}


def write(folder: Path) -> None:
    """One .mo for each .po, in folders of the same names."""
    for path in sorted(SOURCES.rglob("*.po")):
        with path.open("rb") as source:
            catalogue = read_po(source)
        made = folder / path.relative_to(SOURCES).with_suffix(".mo")
        made.parent.mkdir(parents=True, exist_ok=True)
        with made.open("wb") as target:
            write_mo(target, catalogue)
        if path.stem in OF_BROWSERS:
            made.with_suffix(".json").write_text(as_json(catalogue), "utf-8")


def as_json(catalogue: Catalog) -> str:
    """Translated messages by their English ones. A language with one plural form, as Chinese, needs no other."""
    assert catalogue.num_plurals == 1, "the page knows no plural forms of this language"
    return json.dumps({
        one.id if isinstance(one.id, str) else one.id[0]: one.string if isinstance(one.string, str) else one.string[0]
        for one in catalogue
        if one.id and one.string and not one.fuzzy
    }, ensure_ascii=False, sort_keys=True)  # fmt: skip


if __name__ == "__main__":
    write(Path(sys.argv[1]))
