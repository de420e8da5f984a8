"""Bearer tokens of the management port: the file of tokens, who may ask for what, and the class of each path."""

from __future__ import annotations

import contextlib
import hashlib
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interop.harness import codes
from interop.harness.wire import eventually
from rocketns.access.policy_values import PolicyError
from rocketns.admin import server, tokens
from rocketns.admin.api.handlers import document
from rocketns.admin.tokens import (
    FILE_BYTES_MAX,
    PATHS,
    TOKENS_MAX,
    Tokens,
    UnclassedPath,
    read_tokens,
)
from rocketns.errors import StartupError
from tests.admin.conftest import Managed
from tests.admin.http import HttpAnswer

TOKENS = {one: f"token-of-{one}-0123456789" for one in ("probe", "scrape", "read", "drain")}
CHANGE = {"X-Rocketns-Change": "yes"}


def bearer(token: str, scheme: str = "Bearer") -> dict[str, str]:
    return {"Authorization": f"{scheme} {token}"}


class GuardedPort:
    """A server that asks for tokens. ``file`` has one of each class."""

    def __init__(self, managed: Managed, file: Path) -> None:
        self.managed = managed
        self.file = file

    def ask(self, path: str, token: str | None = None, method: str = "GET", **headers: str) -> HttpAnswer:
        return self.managed.http.ask(path, method, headers | ({} if token is None else bearer(token)))

    def status(self, path: str, token: str | None = None) -> int:
        return self.ask(path, token).status

    def take(self, content: str) -> None:
        """Write the file; returns when it was read again."""
        access = self.managed.admin.gate.access if self.managed.admin is not None else None
        assert access is not None
        before, failures = access.tokens, access.failures
        self.file.write_text(content)
        eventually(lambda: access.tokens is not before or access.failures > failures)


@pytest.fixture
def tokens_file(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.write_text("".join(f"{kind} {token}\n" for kind, token in TOKENS.items()))
    file.chmod(0o600)
    return file


@pytest.fixture
def guarded(start_managed: Callable[..., Managed], tokens_file: Path, monkeypatch: pytest.MonkeyPatch) -> GuardedPort:
    monkeypatch.setattr(server, "WATCH_INTERVAL_MS", 10)
    return GuardedPort(start_managed({"rocketns.adminTokensFile": tokens_file}), tokens_file)


API = [*document()["paths"]]
NEEDED = {"/livez": "probe", "/readyz": "probe", "/metrics": "scrape", "/api/v1/status": "read", "/drainz": "drain"}
ALLOWED = {path: 405 if path == "/drainz" else 200 for path in NEEDED}
WRONG = "another-token-0123456789"


@pytest.mark.parametrize("path", NEEDED)
def test_each_class_opens_its_own_paths_alone(guarded: GuardedPort, path: str) -> None:
    found = {kind: guarded.status(path, token) for kind, token in TOKENS.items()}
    assert found == {kind: ALLOWED[path] if kind == NEEDED[path] else 403 for kind in TOKENS}


@pytest.mark.parametrize("path", [*NEEDED, *API, "/api/v1/stream", "/nothing", "/%6Detrics", "/api/v1/nothing"])
def test_without_a_token_there_is_nothing_but_the_question(guarded: GuardedPort, path: str) -> None:
    answer = guarded.ask(path)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer realm="rocketns"')
    assert answer.headers["connection"] == "close"
    assert "Authorization: Bearer TOKEN" in answer.text


@pytest.mark.parametrize(
    "fields",
    [
        {"Authorization": TOKENS["probe"]},
        {"Authorization": f"Basic {TOKENS['probe']}"},
        {"Authorization": f"Bearer {TOKENS['probe'].upper()}"},
        {"Authorization": f"Bearer {TOKENS['probe']} {TOKENS['probe']}"},
        {"Authorization": "Bearer anyone"},
        {"Cookie": f"token={TOKENS['probe']}"},
    ],
)  # fmt: skip
def test_what_is_no_bearer_token_opens_nothing(guarded: GuardedPort, fields: dict[str, str]) -> None:
    assert guarded.ask("/livez", **fields).status == 401


def test_two_authorizations_open_nothing(guarded: GuardedPort) -> None:
    field = f"Authorization: Bearer {TOKENS['probe']}\r\n"
    assert guarded.managed.http.raw(f"GET /livez HTTP/1.1\r\nHost: a\r\n{field * 2}\r\n".encode())[9:12] == b"401"


@pytest.mark.parametrize("path", ["/%6Detrics", "/page/../metrics", "/livez#/metrics"])
def test_another_spelling_of_a_path_is_not_found_with_any_token(guarded: GuardedPort, path: str) -> None:
    """What decides about the token and what finds the handler never read a path differently."""
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKENS['probe']}\r\n\r\n"
    assert guarded.managed.http.raw(head.encode())[9:12] == b"404"


def test_a_drain_needs_the_token_and_the_header_that_no_web_page_sends(guarded: GuardedPort) -> None:
    assert guarded.ask("/drainz", method="POST", **CHANGE).status == 401
    assert guarded.ask("/drainz", TOKENS["read"], "POST", **CHANGE).status == 403
    assert guarded.ask("/drainz", TOKENS["drain"], "POST").status == 403
    assert guarded.ask("/drainz", TOKENS["drain"], "POST", Origin="http://a", **CHANGE).status == 403
    assert not guarded.managed.controller.facts.context.going_away
    assert guarded.ask("/drainz", TOKENS["drain"], "POST", **CHANGE).status == 200
    assert guarded.managed.controller.facts.context.going_away


def test_who_is_refused_fills_no_log_and_no_token_is_in_it(
    guarded: GuardedPort, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(tokens.AdminGate, "now_s", lambda _: now[0])
    for _ in range(200):
        guarded.ask("/metrics", WRONG)
        guarded.ask(f"/api/v1/kv?token={TOKENS['probe']}", TOKENS["probe"])
    now[0] += tokens.LOG_INTERVAL_S
    guarded.ask("/metrics")
    lines = [one.getMessage() for one in caplog.records if "refused" in one.getMessage()]
    assert [line.rpartition(" ")[2] for line in lines] == ["1", "400"]  # since the last such line
    assert not any(token in caplog.text for token in (*TOKENS.values(), WRONG))


def test_no_answer_shows_a_token_or_its_digest(guarded: GuardedPort) -> None:
    """Nor does request 319, which names the file."""
    with guarded.managed.connect() as client:
        shown = [(client.request(codes.GET_NAMESRV_CONFIG).body or b"").decode()]
    shown += [guarded.ask(path, TOKENS["read"]).text for path in API]
    shown += [guarded.ask("/metrics", TOKENS["scrape"]).text, guarded.ask("/").text]
    assert str(guarded.file) in shown[0]
    assert not any(token in text for token in TOKENS.values() for text in shown)


def test_a_class_that_is_open_to_anyone_needs_no_token(guarded: GuardedPort) -> None:
    """Such as the kubelet, which cannot keep one secret."""
    guarded.take(f"probe anyone\nread {TOKENS['read']}\n")
    assert [guarded.status(path) for path in ("/livez", "/readyz", "/metrics")] == [200, 200, 401]
    assert guarded.status("/livez", WRONG) == 200


def test_a_server_whose_feature_adds_a_path_without_a_class_does_not_start(
    monkeypatch: pytest.MonkeyPatch, start_managed: Callable[..., Managed]
) -> None:
    monkeypatch.setattr(tokens, "PATHS", {row: kind for row, kind in PATHS.items() if row != "/metrics"})
    with pytest.raises(UnclassedPath, match="/metrics"):
        start_managed()


TOKEN = "0123456789abcdef"
OTHER = "ABCDEFGHIJ._~+/-=="


def classes_of_token(tokens: Tokens, token: str) -> set[str]:
    return {str(one) for one in tokens.classes_of(token.encode())}


def test_each_line_gives_its_token_its_classes() -> None:
    tokens = read_tokens("tokens", f"# monitoring\n\nprobe scrape {TOKEN}\r\n  read\t{OTHER}\n")
    assert classes_of_token(tokens, TOKEN) == {"probe", "scrape"}
    assert classes_of_token(tokens, OTHER) == {"read"}
    assert classes_of_token(tokens, TOKEN + "0") == classes_of_token(tokens, "") == set()


def test_a_token_with_two_lines_has_the_classes_of_both() -> None:
    tokens = read_tokens("tokens", f"probe {TOKEN}\nread {TOKEN}\n")
    assert classes_of_token(tokens, TOKEN) == {"probe", "read"}


def test_a_digest_stands_for_its_token() -> None:
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    tokens = read_tokens("tokens", f"read sha256:{digest}\n")
    assert classes_of_token(tokens, TOKEN) == {"read"}
    assert classes_of_token(tokens, f"sha256:{digest}") == set()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("probe anyone\n", "it has no token"),
        (f"read {TOKEN}\n{OTHER}\n", "line 2: classes .* and a token are expected"),
        (f"# one\nread reads {TOKEN}\n", "line 2: word 2 is none of the classes"),
        ("read short\n", "line 1: the token must have 16 to 512 letters"),
        (f"read sha256:{TOKEN}\n", "line 1: the token must have"),
        (f"read {TOKEN}é\n", "line 1: only ASCII"),
        ("".join(f"read {TOKEN}{number}\n" for number in range(TOKENS_MAX + 1)), "65 tokens, and at most 64"),
        (f"read {TOKEN}", "its last line has no end, so it may be half written"),
    ],
)
def test_a_wrong_file_is_refused_whole_with_line_and_reason(content: str, why: str) -> None:
    with pytest.raises(PolicyError, match=why) as raised:
        read_tokens("tokens", content)
    assert TOKEN not in str(raised.value)


@given(st.text(max_size=300) | st.text("probe anyonsha256:\n #=", max_size=300))
@example("probe " * 3 + "\x00" * 20)
def test_any_text_is_a_file_or_an_error_without_its_words(content: str) -> None:
    try:
        tokens = read_tokens("tokens", content + "\n")
    except PolicyError as error:
        message = str(error)
    else:
        message = ""
        assert tokens.digests
        assert not tokens.classes_of(b"")
    assert not any(len(word) >= 16 and word in message for word in content.split())


def test_the_beginning_of_a_file_opens_nothing_new() -> None:
    """Neither to half of a token, nor a class to anybody."""
    content = f"# one\nread drain {TOKEN}{TOKEN}\nscrape {OTHER}\nprobe anyone\n"
    everything = read_tokens("tokens", content)
    read = 0
    for cut in range(len(content)):
        with contextlib.suppress(PolicyError):
            beginning = read_tokens("tokens", content[:cut])
            read += 1
            assert beginning.digests.items() <= everything.digests.items()
            assert beginning.anyone <= everything.anyone
    assert read == 2


NEW = "the-new-token-0123456789"


@pytest.mark.parametrize("content", ["", f"reads {NEW}\n", f"read {NEW}\nread\n", "#" * (FILE_BYTES_MAX + 1)])
def test_a_file_that_became_wrong_changes_nothing(
    guarded: GuardedPort, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    guarded.take(content)
    assert guarded.status("/api/v1/status", TOKENS["read"]) == 200
    assert guarded.status("/api/v1/status", NEW) == 401
    assert "rocketns_admin_tokens_reload_failures_total 1.0" in guarded.ask("/metrics", TOKENS["scrape"]).text
    (line,) = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
    assert line.startswith(f"the list of tokens stays as it was: {guarded.file}")
    assert NEW not in line


def test_a_file_that_is_gone_for_a_moment_changes_nothing(guarded: GuardedPort) -> None:
    guarded.file.unlink()
    assert guarded.status("/api/v1/status", TOKENS["read"]) == 200
    guarded.take(f"read {NEW}\n")
    eventually(lambda: guarded.status("/api/v1/status", NEW) == 200)


@pytest.mark.parametrize("content", [None, "", "read short\n"])
def test_the_server_does_not_start_with_a_file_that_cannot_be_used(
    start_managed: Callable[..., Managed], tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "tokens"
    if content is not None:
        file.write_text(content)
    with pytest.raises(StartupError, match=r"rocketns\.adminTokensFile cannot be used: .*tokens"):
        start_managed({"rocketns.adminTokensFile": file})


def test_a_running_server_takes_the_tokens_of_a_changed_file(guarded: GuardedPort) -> None:
    guarded.take(f"read {NEW}\n")
    assert guarded.status("/api/v1/status", NEW) == 200
    assert guarded.status("/api/v1/status", TOKENS["read"]) == 401


def test_a_hangup_reads_the_file_again(guarded: GuardedPort, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    assert guarded.managed.admin is not None
    guarded.managed.admin.reread()
    eventually(lambda: "4 tokens are in force" in caplog.text)


def test_a_stream_ends_when_other_tokens_come_into_force(guarded: GuardedPort) -> None:
    """Its reader may have a token that no longer counts."""
    head = f"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKENS['read']}\r\n\r\n"
    with guarded.managed.http.connect() as reader:
        reader.sendall(head.encode())
        assert reader.recv(100).startswith(b"HTTP/1.1 200")
        guarded.take(f"read {NEW}\n")
        eventually(lambda: has_ended(reader))


def has_ended(reader: socket.socket) -> bool:
    try:
        return not reader.recv(65_536)
    except ConnectionResetError:
        return True
