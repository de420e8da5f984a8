"""A page of the audit in a headless Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser as Chromium
from playwright.sync_api import sync_playwright

from tests.support.browser import ARGUMENTS, CHROMIUM

ANSWER_MS = 120_000


class Browser:
    """One page. ``problems``: what the page complained about: errors of scripts, and what its policy refused."""

    def __init__(self, chromium: Chromium) -> None:
        self._chromium, self.page = chromium, chromium.new_page()
        self.problems: list[str] = []

    def open(self, path: Path, width: int = 1280, height: int = 800, *, anchor: str = "") -> None:
        """Load a file and wait until its scripts ran."""
        self.page.close()
        self.page = self._chromium.new_page(viewport={"width": width, "height": height}, is_mobile=width < 600)
        self.page.set_default_timeout(ANSWER_MS)
        note = self.problems.append
        self.page.on("console", lambda one: note(one.text) if one.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: note(str(error)))
        self.page.on("dialog", lambda one: note(f"a dialog opened: {one.message}"))
        self.page.goto(f"{path.as_uri()}{anchor}")

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript; a promise is waited for."""
        return self.page.evaluate(expression)

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def drag(self, x1: float, x2: float, y: float) -> None:
        """The mouse, pressed at one place and released at another."""
        self.page.mouse.move(x1, y)
        self.page.mouse.down()
        self.page.mouse.move(x2, y, steps=2)
        self.page.mouse.up()


@contextmanager
def browser() -> Iterator[Browser]:
    """A new browser with a profile of its own, which ends with the block."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield Browser(chromium)
        chromium.close()
