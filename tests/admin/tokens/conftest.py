"""Servers with a file of tokens, and what they answer to whom."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.admin.conftest import Managed
from tests.admin.http import Answer

TOKENS = {one: f"token-of-{one}-0123456789" for one in ("probe", "scrape", "read", "drain")}
CHANGE = {"X-Rocketns-Change": "yes"}


def bearer(token: str, scheme: str = "Bearer") -> dict[str, str]:
    return {"Authorization": f"{scheme} {token}"}


class Guarded:
    """A server that asks for tokens. ``file`` has one of each class."""

    def __init__(self, managed: Managed, file: Path) -> None:
        self.managed = managed
        self.file = file

    def ask(self, path: str, token: str | None = None, method: str = "GET", **headers: str) -> Answer:
        return self.managed.http.ask(path, method, headers | ({} if token is None else bearer(token)))

    def status(self, path: str, token: str | None = None) -> int:
        return self.ask(path, token).status

    def reread(self) -> None:
        """As at SIGHUP; returns when it is done."""
        assert self.managed.admin is not None
        self.managed.admin.reread()
        self.managed.http.ask("/page/icon.svg")  # is answered by the same loop, afterwards


@pytest.fixture
def tokens_file(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.write_text("".join(f"{kind} {token}\n" for kind, token in TOKENS.items()))
    file.chmod(0o600)
    return file


@pytest.fixture
def guarded(start_managed: Callable[..., Managed], tokens_file: Path) -> Guarded:
    return Guarded(start_managed({"rocketns.adminTokensFile": tokens_file}), tokens_file)
