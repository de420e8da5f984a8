"""The log as lines of JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketns.logs import start_logging
from tests.support.rootlogger import restored_root_logger

log = logging.getLogger("rocketns.test")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with restored_root_logger():
        yield tmp_path


def written(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "namesrv.log").read_text("ascii").splitlines()]


def test_a_line_is_an_object_with_the_columns_of_its_request(folder: Path) -> None:
    writer = start_logging("INFO", folder, as_json=True)
    log.warning("request code %d failed", 105, extra={"code": 105, "peer": "10.0.0.1:1", "cost_ms": 1.5, "unknown": 1})
    writer.stop()
    (line,) = written(folder)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "WARN", "thread": "MainThread", "logger": "rocketns.test", "message": "request code 105 failed",
        "code": 105, "peer": "10.0.0.1:1", "cost_ms": 1.5,
    }  # fmt: skip


def test_text_of_peers_stays_inside_its_line_and_an_error_has_its_stack(folder: Path) -> None:
    writer = start_logging("INFO", folder, as_json=True)
    log.info("topic %s", 'x"}\n{"level": "FORGED" \u2028 \ud800')
    try:
        raise ValueError("no such thing")
    except ValueError:
        log.exception("it failed")
    writer.stop()
    first, second = written(folder)
    assert first["level"] == "INFO"
    assert "FORGED" in first["message"]
    assert second["stack"].endswith("ValueError: no such thing")
