"""`rocketns health` against real servers."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from rocketns.__main__ import main
from tests.admin.conftest import Managed, start_managed

__all__ = ["start_managed"]

Start = Callable[..., Managed]


def addr(managed: Managed) -> str:
    return f"127.0.0.1:{managed.port}"


def test_a_server_that_serves_is_ready(start_managed: Start, capsys: pytest.CaptureFixture[str]) -> None:
    managed = start_managed()
    assert main(["health", "-n", addr(managed)]) == 0
    assert capsys.readouterr().out == f"{addr(managed)} is ready\n"


def test_a_server_that_waits_for_brokers_is_not_ready(start_managed: Start, capsys: pytest.CaptureFixture[str]) -> None:
    managed = start_managed({"needWaitForService": "true"})
    assert main(["health", "-n", addr(managed), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "server": addr(managed), "ready": False, "reason": "it starts, or waits for its brokers",
    }  # fmt: skip


def test_a_server_that_drains_is_not_ready(start_managed: Start, capsys: pytest.CaptureFixture[str]) -> None:
    managed = start_managed()
    managed.call(lambda: managed.controller.facts.drain(begins=True))
    assert main(["health", "-n", addr(managed)]) == 1
    assert "is not ready: it drains" in capsys.readouterr().out


def test_a_server_that_is_not_there_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["health", "-n", "127.0.0.1:1"]) == 2
    assert "127.0.0.1:1 cannot be read" in capsys.readouterr().err
