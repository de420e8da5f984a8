"""Prints README.md as a package index shows it: python packaging/description.py README.md

An index shows relative links as they are, so they would lead into the index and not to a file, and this project has no
address that they could be given. So a link to a file becomes its text, with the file's name where the text is another
one, and an image is left out. Both are in the sdist and in a checkout.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

OUTSIDE = ("http://", "https://", "mailto:")
IMAGE = re.compile(r"^!\[[^\]]*\]\((?P<target>[^)\s]+)\)\n*", re.M)
LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<target>[^)\s]+)\)")
NOTE = "\nFiles that are named here, such as those in `docs/`, are in the source package.\n"
TITLE = re.compile(r"^# .*\n", re.M)


def described(readme: str) -> str:
    """The text without relative links and images. A note below the title says where the files are."""
    text = IMAGE.sub(lambda image: image[0] if image["target"].startswith(OUTSIDE) else "", readme)
    return TITLE.sub(lambda title: title[0] + NOTE, LINK.sub(named, text), count=1)


def named(link: re.Match[str]) -> str:
    """A link to elsewhere as it is, one to a file by its name."""
    if link["target"].startswith(OUTSIDE):
        return link[0]
    file = link["target"].partition("#")[0]
    return f"`{file}`" if link["text"] == file or not file else f"{link['text']} (`{file}`)"


if __name__ == "__main__":
    sys.stdout.buffer.write(described(Path(sys.argv[1]).read_text("utf-8")).encode())
