"""Servers with a policy."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness.servers import NameServer

StartGuarded = Callable[..., NameServer]


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    return tmp_path / "access.toml"


@pytest.fixture
def start_guarded(server_class: type[NameServer], tmp_path: Path, policy_file: Path) -> Iterator[StartGuarded]:
    """Start a rocketns with a policy: ``start_guarded(text, properties, options=…)``; stopped after the test."""
    started: list[NameServer] = []

    def start(policy: str, properties: dict[str, object] | None = None, **more: object) -> NameServer:
        write_policy(policy_file, policy)
        settings = {"rocketns.accessFile": policy_file} | (properties or {})
        started.append(server_class(tmp_path / f"ns{len(started)}", settings, **more))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for server in started:
        server.stop()


def write_policy(path: Path, text: str) -> None:
    """In one step, as editors and Kubernetes do."""
    new = path.with_suffix(".new")
    new.write_text(textwrap.dedent(text), "utf-8")
    new.replace(path)
