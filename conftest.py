"""Options shared by tests and interop, so that both run in one call."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--against",
        choices=("rocketns", "java"),
        default="rocketns",
        help="which name server the tests talk to (java: 5.5.0 from Maven)",
    )
