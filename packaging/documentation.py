"""Builds the documentation site: python packaging/documentation.py [--out build/site] [--root .]

It writes OUT/LANGUAGE/VERSION/; other versions in OUT stay. Nothing of it needs the network when it is read.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from website.languages import LANGUAGES, Language, other
from website.links import html
from website.navigation import navigation
from website.pages import IMAGES, Pages, collected
from website.staging import stage
from website.versions import index

ROOT = Path(__file__).resolve().parent.parent
WEBSITE = Path(__file__).resolve().parent / "website"
# mkdocs-material says at each start that its makers work on a successor. pyproject.toml has what that means here.
ENVIRONMENT = {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(WEBSITE.parent)}  # the path: for hooks.py
VERSION = re.compile(r'^__version__ = "(.+)"$', re.M)


def build(root: Path, out: Path, work: Path) -> None:
    """Both languages of the version of a checkout. CalledProcessError where MkDocs warns."""
    version = version_of(root)
    pages = {language: collected(root, language) for language in LANGUAGES}
    for language in LANGUAGES:
        folder = work / language.folder
        shutil.rmtree(folder, ignore_errors=True)
        stage(pages[language], folder / "pages")
        shutil.copytree(WEBSITE / "theme" / "assets", folder / "pages" / "assets")
        written = settings(pages[language], pages[other(language)], version, out / language.folder / version)
        (folder / "mkdocs.yml").write_text(yaml.safe_dump(written, allow_unicode=True), "utf-8")
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "-f", folder / "mkdocs.yml"]
        subprocess.run(command, check=True, env=os.environ | ENVIRONMENT)
        (out / language.folder / version / "404.html").unlink()  # it finds its styles at the root of a server only
    index(out)


def version_of(root: Path) -> str:
    """The only place of the version is rocketns/__init__.py."""
    found = VERSION.search((root / "rocketns" / "__init__.py").read_text("utf-8"))
    if found is None:
        raise ValueError("rocketns/__init__.py has no __version__")
    return found[1]


def settings(pages: Pages, others: Pages, version: str, site: Path) -> dict[str, Any]:
    """What website/mkdocs.yml leaves to this program."""
    language, beside = pages.language, others.language
    return {
        "INHERIT": str(WEBSITE / "mkdocs.yml"),
        "site_name": "rocketns",
        "site_description": language.about,
        "docs_dir": "pages",
        "site_dir": str(site.resolve()),
        "nav": navigation(pages),
        "hooks": [str(WEBSITE / "hooks.py")],
        "theme": {"language": language.folder, "palette": palette(language)},
        "plugins": plugins(language),
        "markdown_extensions": {"toc": {"permalink_title": language.section}},
        "extra": {
            "language": language.name,
            "other": {
                "name": beside.name,
                "folder": beside.folder,
                "root": f"../../{beside.folder}/{version}",
                "pages": [html(name) for name in others.sources if not name.endswith(IMAGES)],
            },
        },
    }


def palette(language: Language) -> list[dict[str, Any]]:
    """As the reader's system, or as the button says."""
    media = ("(prefers-color-scheme)", "(prefers-color-scheme: light)", "(prefers-color-scheme: dark)")
    icons = ("brightness-auto", "brightness-7", "brightness-4")
    made = [
        {"media": one, "primary": "indigo", "toggle": {"icon": f"material/{icon}", "name": name}}
        for one, icon, name in zip(media, icons, language.schemes, strict=True)
    ]
    return [made[0], made[1] | {"scheme": "default"}, made[2] | {"scheme": "slate"}]


def plugins(language: Language) -> dict[str, Any]:
    """Search. Names of properties stay whole. jieba cuts Chinese into words, with U+200B between them."""
    chinese = r"\u200b\u3000-\u303f\uff00-\uffef" if language.folder == "zh" else ""
    separator = rf"[\s{chinese},:;!=\[\]()\"`/|]+|&[lg]t;"
    return {"search": {"lang": ["en"], "separator": separator}, "offline": {}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout whose documents are built")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    options = parser.parse_args()
    try:
        build(options.root, options.out, options.out.parent / "documentation")
    except subprocess.CalledProcessError as error:
        return error.returncode
    print(f"{options.out}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
