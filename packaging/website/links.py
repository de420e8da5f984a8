"""Links of the repository, as they are in the site."""

from __future__ import annotations

import posixpath
import re

from website.languages import CHINESE
from website.pages import IMAGES, LINK, Pages, language_of, resolved, site_name

# A link to a page of the other language. MkDocs takes it for one to elsewhere; hooks.py makes it relative again.
ACROSS = "https://across.invalid/"
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.M)
FENCED = re.compile(r"^(?: {0,3}(```|~~~).*?^ {0,3}\1 *$)", re.M | re.S)


def rewritten(pages: Pages, name: str, text: str) -> str:
    """The text of a page with links that work in the site."""
    return LINK.sub(lambda match: f"]({target(pages, name, match['target'])})", text)


def target(pages: Pages, name: str, link: str) -> str:
    """Where a link leads. What is not a file of the repository stays as it is, so that MkDocs can complain."""
    path = resolved(pages.sources[name], link)
    anchor = link.partition("#")[2]
    if not path or not (pages.root / path).is_file():
        return link
    found = site_name(path)
    end = f"#{anchor}" if anchor else ""
    if leads_across(pages, name, path, anchor):
        return f"{ACROSS}{html(found)}{end}"
    return posixpath.relpath(found, posixpath.dirname(name) or ".") + end


def leads_across(pages: Pages, name: str, path: str, anchor: str) -> bool:
    """A link between the two versions of one page, or to a page or heading that this language has not."""
    language, found = language_of(path), site_name(path)
    if language in (None, pages.language):
        return False
    if language is CHINESE or found not in pages.sources:
        return True
    own = language_of(pages.sources[found]) is pages.language
    return own and (found == name or (bool(anchor) and anchor not in anchors(pages.text(found))))


def html(name: str) -> str:
    """The file that MkDocs writes for a page. README.md is what a folder shows."""
    folder, base = posixpath.split(name)
    if name.endswith(IMAGES):
        return name
    stem = "index" if base == "README.md" else base.removesuffix(".md")
    return posixpath.join(folder, f"{stem}.html")


def anchors(text: str) -> set[str]:
    """The anchors of headings, as GitHub and the site name them."""
    return {anchor_of(heading) for heading in HEADING.findall(FENCED.sub("", text))}


def anchor_of(heading: str) -> str:
    """Letters and digits, a hyphen for each blank."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
