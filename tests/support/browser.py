"""Debian's Chromium, driven by playwright; nothing is downloaded. Its tests have ``pytest.mark.needs("chromium")``."""

from __future__ import annotations

from tests.support.needs import found

CHROMIUM = found("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
