"""``python -m tests.check.metrics``: write docs/metrics.md again, and say which steps of the recipe are missing."""

from __future__ import annotations

import sys

from tests.check.metrics.page import PAGE, page
from tests.check.metrics.steps import missing_steps

PAGE.write_text(page(), "utf-8")
sys.exit("\n".join(missing_steps()) or 0)
