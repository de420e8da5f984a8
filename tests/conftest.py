"""Options shared by all tests."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--against",
        choices=("rocketns", "java"),
        default="rocketns",
        help="which name server the behaviour tests talk to (java: 5.5.0 from Maven)",
    )
