"""The Hypothesis profile, and the journal's files below a temporary folder."""

from __future__ import annotations

import tests.support.profile  # noqa: F401
