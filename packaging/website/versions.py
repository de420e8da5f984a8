"""Versions side by side: LANGUAGE/VERSION/ below the output, and versions.json beside them for the selector."""

from __future__ import annotations

import json
from pathlib import Path

from packaging.version import Version

from website.languages import LANGUAGES, Language

GO = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><title>rocketns</title>{script}</head>
<body>{links}</body></html>
"""
REFRESH = '<meta http-equiv="refresh" content="0; url={version}/index.html">'
# Of the reader's languages the first that there is.
CHOOSE = """<script>
const wanted = navigator.languages.find(name => /^(en|zh)\\b/i.test(name)) || "en";
location.replace(wanted.slice(0, 2).toLowerCase() + "/index.html");
</script>"""


def index(output: Path) -> None:
    """Name the versions that are there, and lead readers to the newest in their language."""
    for language in LANGUAGES:
        folder = output / language.folder
        found = sorted((path.parent.name for path in folder.glob("*/index.html")), key=Version, reverse=True)
        listed = [{"version": version, "title": version, "aliases": []} for version in found]
        (folder / "versions.json").write_text(json.dumps(listed), "utf-8")
        (folder / "index.html").write_text(newest(language, found[0]), "utf-8")
    links = " ".join(f'<a href="{one.folder}/index.html">{one.name}</a>' for one in LANGUAGES)
    (output / "index.html").write_text(GO.format(language="en", script=CHOOSE, links=links), "utf-8")


def newest(language: Language, version: str) -> str:
    link = f'<a href="{version}/index.html">rocketns {version}</a>'
    return GO.format(language=language.folder, script=REFRESH.format(version=version), links=link)
