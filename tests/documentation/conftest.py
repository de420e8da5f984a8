"""The modules of packaging/website, which are no part of the package."""

from __future__ import annotations

import sys

from tests.check.source import ROOT

sys.path.append(str(ROOT / "packaging"))
