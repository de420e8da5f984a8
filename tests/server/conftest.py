"""Loads the Hypothesis profile before the tests here are read."""

from __future__ import annotations

import tests.support.profile  # noqa: F401
