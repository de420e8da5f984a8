"""What tests of `rocketns access` share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rocketns.__main__ import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def access(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `rocketns access` with words: the exit status, standard output and standard error."""

    def run(*words: str) -> tuple[int, str, str]:
        status = main(["access", *words])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run
