"""The Hypothesis profile."""

from __future__ import annotations

import tests.support.profile  # noqa: F401
