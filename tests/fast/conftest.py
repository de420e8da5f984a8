"""The Hypothesis profile of the property tests."""

from __future__ import annotations

import tests.support.profile  # noqa: F401
