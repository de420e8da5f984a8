"""The file of tokens while the server runs."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness.wire import eventually
from rocketns.admin import server
from rocketns.admin.tokens.file import TokenFile
from rocketns.errors import StartupError
from tests.admin.conftest import Managed
from tests.admin.tokens.conftest import TOKENS, Guarded

NEW = "the-new-token-0123456789"


def knows(file: TokenFile, token: str) -> bool:
    return bool(file.tokens.classes_of(token.encode()))


def test_a_changed_file_is_read_again(tokens_file: Path) -> None:
    file = TokenFile(str(tokens_file))
    assert not file.check()
    tokens_file.write_text(f"read {NEW}\n")
    assert file.check()
    assert knows(file, NEW)
    assert not knows(file, TOKENS["read"])


@pytest.mark.parametrize("content", ["", "read short\n", f"reads {NEW}\n", f"read {NEW}\nread\n"])
def test_a_file_that_became_wrong_changes_nothing(
    tokens_file: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = TokenFile(str(tokens_file))
    tokens_file.write_text(content)
    assert not file.check()
    assert (knows(file, TOKENS["read"]), knows(file, NEW), file.failures) == (True, False, 1)
    (line,) = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
    assert line.startswith(f"rocketns.adminTokensFile: {tokens_file}: ")
    assert line.endswith("The tokens before stay in force")
    assert NEW not in line


def test_a_file_that_is_gone_for_a_moment_changes_nothing(tokens_file: Path) -> None:
    file = TokenFile(str(tokens_file))
    tokens_file.unlink()
    assert not file.check()
    assert knows(file, TOKENS["read"])
    tokens_file.write_text(f"read {NEW}\n")
    assert file.check()
    assert knows(file, NEW)


@pytest.mark.parametrize("content", [None, "", "read short\n"])
def test_the_server_does_not_start_with_a_file_that_cannot_be_used(
    start_managed: Callable[..., Managed], tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "tokens"
    if content is not None:
        file.write_text(content)
    with pytest.raises(StartupError, match=r"rocketns\.adminTokensFile: .*tokens"):
        start_managed({"rocketns.adminTokensFile": file})


@pytest.mark.parametrize(("mode", "warns"), [(0o600, False), (0o640, False), (0o644, True), (0o604, True)])
def test_a_file_that_everybody_may_read_is_named(
    tokens_file: Path, caplog: pytest.LogCaptureFixture, mode: int, *, warns: bool
) -> None:
    tokens_file.chmod(mode)
    TokenFile(str(tokens_file))
    assert ("every user of this machine may read" in caplog.text) is warns


def test_a_running_server_takes_the_tokens_of_a_changed_file(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "WATCH_INTERVAL_MS", 10)
    guarded.file.write_text(f"read {NEW}\n")
    eventually(lambda: guarded.status("/api/v1/status", NEW) == 200)
    assert guarded.status("/api/v1/status", TOKENS["read"]) == 401


def test_sighup_reads_the_file_again(guarded: Guarded) -> None:
    guarded.file.write_text(f"read {NEW}\n")
    guarded.reread()
    assert guarded.status("/api/v1/status", NEW) == 200


def test_a_stream_ends_when_other_tokens_come_into_force(guarded: Guarded) -> None:
    """Its reader may have a token that no longer counts."""
    head = f"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKENS['read']}\r\n\r\n"
    with guarded.managed.http.connect() as reader:
        reader.sendall(head.encode())
        assert reader.recv(100).startswith(b"HTTP/1.1 200")
        guarded.file.write_text(f"read {NEW}\n")
        guarded.reread()
        eventually(lambda: has_ended(reader))


def has_ended(reader: socket.socket) -> bool:
    try:
        return not reader.recv(65_536)
    except ConnectionResetError:
        return True
