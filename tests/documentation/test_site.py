"""The built site in Chromium: it asks only its own server, finds pages in both languages, and keeps to its width."""

from __future__ import annotations

import functools
import itertools
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, sync_playwright

from rocketns import __version__
from tests.check.source import ROOT
from tests.support.running.chromium import ARGUMENTS, CHROMIUM

pytest.importorskip("material", reason="make docs installs MkDocs")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.timeout(900),
]
BUILD_TIMEOUT_S = 700
EARLIER = "0.0.1"
PATIENCE_MS = 180_000  # for a machine that does much else
WIDTHS = (1280, 390)
NOWHERE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"  # what others are asked goes nowhere
# Wide tables, figures, lists in lists, code, one page that is a file as it is.
LOOKED_AT = (
    "index",
    "tables",
    "security",
    "properties",
    "limits",
    "collect",
    "packaging/prometheus/rocketns.rules.yml",
)


def built(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "packaging" / "documentation.py", "--root", source, "--out", out]
    return subprocess.run(command, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This version, built into a folder that has an earlier one."""
    out = tmp_path_factory.mktemp("site") / "site"
    for language in ("en", "zh"):
        (out / language / EARLIER).mkdir(parents=True)
        (out / language / EARLIER / "index.html").write_text(language, "utf-8")
    result = built(ROOT, out)
    assert result.returncode == 0, result.stderr[-3000:]
    assert "WARNING" not in result.stderr
    assert [(out / language / EARLIER / "index.html").read_text("utf-8") for language in ("en", "zh")] == ["en", "zh"]
    return out


def small_checkout(folder: Path) -> Path:
    """Enough of a repository for a site: the pages that its navigation names, each with one heading."""
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("*.png"))
    for page in (folder / "docs").rglob("*.md"):
        page.write_text(f"# {page.stem}\n", "utf-8")
    (folder / "README.md").write_text("# rocketns\n", "utf-8")
    (folder / "rocketns").mkdir()
    (folder / "rocketns" / "__init__.py").write_text(f'__version__ = "{EARLIER}"\n', "utf-8")
    return folder


def test_a_dead_link_and_a_dead_anchor_end_the_build(tmp_path: Path) -> None:
    source = small_checkout(tmp_path / "source")
    (source / "docs" / "limits.md").write_text("# Limits\n[a](gone.md)\n[b](audit.md#gone)\n", "utf-8")
    result = built(source, tmp_path / "out")
    assert result.returncode != 0
    assert "gone.md" in result.stderr
    assert "audit.md#gone" in result.stderr


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as started:
        made = started.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, NOWHERE])
        yield made
        made.close()


class Reader:
    """A page that stays open: a new one costs as much as three loads. It notes what is asked of others than these
    addresses, and what the console says."""

    def __init__(self, browser: Browser, *own: str) -> None:
        self.own = (*own, "data:", "blob:", "about:")
        self.others: list[str] = []
        self.said: list[str] = []
        self.page: Page = browser.new_page(reduced_motion="reduce")
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("request", self._asked)
        self.page.on("console", lambda one: self.said.append(one.text) if one.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(self.own):
            self.others.append(request.url)

    def resize(self, width: int) -> None:
        self.page.set_viewport_size({"width": width, "height": 900})

    def found(self, page: str, words: str) -> list[str]:
        """The pages that a search finds, best first."""
        self.page.goto(page)
        box = self.page.locator(".md-search__input").first
        box.click()
        box.fill(words)
        box.press("End")
        self.page.wait_for_selector(".md-search-result__link", timeout=PATIENCE_MS)
        links = self.page.locator(".md-search-result__link")
        return [str(one.get_attribute("href")) for one in links.all()]


@pytest.fixture(scope="module")
def window(browser: Browser, site: Path, address: str) -> Reader:
    return Reader(browser, address, site.as_uri())


@pytest.fixture
def reader(window: Reader) -> Iterator[Reader]:
    """It reads on a desk, by light. Afterwards nothing may have been asked of others."""
    window.said.clear()
    window.resize(WIDTHS[0])
    window.page.emulate_media(color_scheme="light")
    yield window
    window.page.goto("about:blank")
    assert window.others == []


@pytest.fixture(params=["http", "file"])
def base(request: pytest.FixtureRequest, site: Path, address: str) -> str:
    """Of a site on a server, and of one that is opened as files."""
    return address if request.param == "http" else site.as_uri()


@pytest.mark.parametrize(
    ("language", "words", "page"),
    [("en", "rocketns.peers", "/discovery.html"), ("zh", "journalPath", ".html"), ("zh", "英文原文", ".html")],
)
def test_the_search_finds_names_of_properties_and_chinese_words(
    reader: Reader, base: str, language: str, words: str, page: str
) -> None:
    found = reader.found(f"{base}/{language}/{__version__}/index.html", words)
    assert any(page in one for one in found[:5]), found
    assert all(f"/{language}/{__version__}/" in one for one in found)


@pytest.mark.parametrize("name", ["audit.html", "design/journal.html"])
def test_the_language_switch_stays_on_the_page(reader: Reader, base: str, name: str) -> None:
    addresses = {language: f"{base}/{language}/{__version__}/{name}" for language in ("en", "zh")}
    for language, other in (("en", "zh"), ("zh", "en")):
        reader.page.goto(addresses[language])
        assert reader.page.locator("h1").count() == 1
        link = reader.page.locator(f".md-select__link[hreflang={other}]")
        assert link.evaluate("link => link.href") == addresses[other]


def test_the_selector_lists_the_versions(reader: Reader, address: str) -> None:
    reader.page.goto(f"{address}/en/{__version__}/audit.html")
    reader.page.wait_for_selector(".md-version__link", state="attached")
    listed = [one.inner_text().strip() for one in reader.page.locator(".md-version__link").all()]
    assert [text or version for text, version in zip(listed, (__version__, EARLIER), strict=True)] == [
        __version__,
        EARLIER,
    ]


def test_readers_arrive_at_the_newest_version_in_their_language(browser: Browser, address: str) -> None:
    for locale, language in (("zh-CN", "zh"), ("en-GB", "en"), ("de-DE", "en")):
        with browser.new_context(locale=locale) as context:
            page = context.new_page()
            page.goto(f"{address}/index.html", timeout=PATIENCE_MS)
            page.wait_for_url(f"**/{language}/{__version__}/index.html", wait_until="commit", timeout=PATIENCE_MS)


DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
# What lies over other text, or beside the window. Code and tables scroll, so only what is seen of them counts.
OVERLAPS = """() => {
  const edges = new Map(), W = document.documentElement.clientWidth, found = [];
  const seen = (e) => {
    if (!e) return [-1e9, -1e9, 1e9, 1e9];
    if (edges.has(e)) return edges.get(e);
    let box = seen(e.parentElement);
    const style = getComputedStyle(e), one = e.getBoundingClientRect();
    if (e !== document.documentElement && e !== document.body && style.overflowX + style.overflowY !== "visiblevisible")
      box = [Math.max(box[0], one.left), Math.max(box[1], one.top),
             Math.min(box[2], one.right), Math.min(box[3], one.bottom)];
    edges.set(e, box);
    return box;
  };
  const texts = document.createTreeWalker(document.querySelector(".md-content"), NodeFilter.SHOW_TEXT), boxes = [];
  while (texts.nextNode()) {
    const node = texts.currentNode, range = document.createRange();
    if (!node.data.trim() || !node.parentElement.checkVisibility({checkVisibilityCSS: true})) continue;
    range.selectNodeContents(node);
    const clip = seen(node.parentElement);
    for (const one of range.getClientRects()) {
      const box = {node, left: Math.max(one.left, clip[0]), top: Math.max(one.top, clip[1]),
                   right: Math.min(one.right, clip[2]), bottom: Math.min(one.bottom, clip[3])};
      if (box.right - box.left < 1 || box.bottom - box.top < 1) continue;
      if (box.right > W + 1) found.push("beside the window: " + node.data.trim().slice(0, 40));
      boxes.push(box);
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((a, place) => {
    for (let next = place + 1; next < boxes.length && boxes[next].top < a.bottom - 2; next++) {
      const b = boxes[next], height = Math.min(a.bottom, b.bottom) - b.top;
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      if (a.node !== b.node && width > 2 && height > Math.max(3, Math.min(a.bottom - a.top, b.bottom - b.top) / 4))
        found.push(a.node.data.trim().slice(0, 40) + " / " + b.node.data.trim().slice(0, 40));
    }
  });
  return found;
}"""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_overlaps_or_is_wider_than_the_window(reader: Reader, address: str, language: str) -> None:
    """Light and dark, on a desk and on a phone. Wide tables and code scroll by themselves."""
    for name in LOOKED_AT:
        reader.page.goto(f"{address}/{language}/{__version__}/{name}.html")
        for scheme, width in itertools.product(("light", "dark"), WIDTHS):
            reader.page.emulate_media(color_scheme=scheme)
            reader.resize(width)
            reader.page.evaluate(DRAWN)
            assert reader.page.evaluate("document.documentElement.scrollWidth") <= width, (name, scheme)
            assert reader.page.evaluate(OVERLAPS) == [], (name, scheme, width)
    assert reader.said == []


@pytest.mark.parametrize(("scheme", "shown"), [("light", "default"), ("dark", "slate")])
def test_links_and_code_have_enough_contrast(reader: Reader, address: str, scheme: Any, shown: str) -> None:
    reader.page.emulate_media(color_scheme=scheme)
    reader.page.goto(f"{address}/zh/{__version__}/security.html")
    assert reader.page.evaluate("document.body.dataset.mdColorScheme") == shown
    found = Axe().run(reader.page, ".md-content", {"runOnly": ["color-contrast"]}).response["violations"]
    assert [node["html"] for one in found for node in one["nodes"]][:5] == []
    assert reader.said == []


def test_no_mark_of_a_list_stays_in_a_paragraph(site: Path) -> None:
    """Python-Markdown reads fewer lists than GitHub."""
    for page in sorted(site.glob(f"*/{__version__}/**/*.html")):
        text = re.sub(r"<pre\b.*?</pre>", "", page.read_text("utf-8"), flags=re.S)
        assert re.findall(r"\n(?:[-*] +|[1-9]\. +)[^\n]{0,40}", text.partition("<article")[2]) == [], page


def test_the_index_is_of_one_language(site: Path) -> None:
    for language in ("en", "zh"):
        text = (site / language / __version__ / "search" / "search_index.json").read_text("utf-8")
        assert json.loads(text)["docs"]
