"""Who may ask for what, over real sockets."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from interop.harness import codes
from rocketns.admin import answers, gate
from rocketns.admin.api.handlers import PATHS as API
from rocketns.admin.tokens import access
from tests.admin.conftest import Managed
from tests.admin.tokens.conftest import CHANGE, TOKENS, Guarded, bearer

NEEDED = {"/livez": "probe", "/readyz": "probe", "/metrics": "scrape", "/api/v1/status": "read", "/drainz": "drain"}
ALLOWED = {path: 405 if path == "/drainz" else 200 for path in NEEDED}
WRONG = "another-token-0123456789"


@pytest.mark.parametrize("path", NEEDED)
def test_each_class_opens_its_own_paths_alone(guarded: Guarded, path: str) -> None:
    found = {kind: guarded.status(path, token) for kind, token in TOKENS.items()}
    assert found == {kind: ALLOWED[path] if kind == NEEDED[path] else 403 for kind in TOKENS}


@pytest.mark.parametrize("path", [*NEEDED, *API, "/api/v1/stream", "/nothing", "/%6Detrics", "/api/v1/nothing"])
def test_without_a_token_there_is_nothing_but_the_question(guarded: Guarded, path: str) -> None:
    answer = guarded.ask(path)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer realm="rocketns"')
    assert answer.headers["connection"] == "close"
    assert "Authorization: Bearer TOKEN" in answer.text


def test_a_wrong_token_and_one_without_the_class_are_told_apart(guarded: Guarded) -> None:
    wrong, lacking = guarded.ask("/metrics", WRONG), guarded.ask("/metrics", TOKENS["read"])
    assert (wrong.status, wrong.headers["www-authenticate"]) == (401, 'Bearer realm="rocketns", error="invalid_token"')
    assert lacking.status == 403
    assert lacking.headers["www-authenticate"] == 'Bearer realm="rocketns", error="insufficient_scope", scope="scrape"'


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/page/icon.svg"])
def test_the_page_itself_is_for_everybody(guarded: Guarded, path: str) -> None:
    assert guarded.status(path) == 200


@pytest.mark.parametrize(
    "fields",
    [
        {"Authorization": TOKENS["probe"]},
        {"Authorization": f"Basic {TOKENS['probe']}"},
        {"Authorization": f"Bearer {TOKENS['probe']}x"},
        {"Authorization": f"Bearer {TOKENS['probe'][:-1]}"},
        {"Authorization": f"Bearer {TOKENS['probe'].upper()}"},
        {"Authorization": f"Bearer {TOKENS['probe']} {TOKENS['probe']}"},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer anyone"},
        {"X-Authorization": f"Bearer {TOKENS['probe']}"},
        {"Cookie": f"token={TOKENS['probe']}"},
    ],
)  # fmt: skip
def test_what_is_no_bearer_token_opens_nothing(guarded: Guarded, fields: dict[str, str]) -> None:
    assert guarded.ask("/livez", **fields).status == 401


def test_a_token_in_the_address_opens_nothing(guarded: Guarded) -> None:
    assert guarded.status(f"/livez?access_token={TOKENS['probe']}") == 401


def test_two_authorizations_open_nothing(guarded: Guarded) -> None:
    field = f"Authorization: Bearer {TOKENS['probe']}\r\n"
    assert guarded.managed.http.raw(f"GET /livez HTTP/1.1\r\nHost: a\r\n{field * 2}\r\n".encode())[9:12] == b"401"


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer "])
def test_the_scheme_may_have_any_letters(guarded: Guarded, scheme: str) -> None:
    assert guarded.managed.http.ask("/livez", headers=bearer(TOKENS["probe"], scheme)).status == 200


@pytest.mark.parametrize(
    "path", ["/%6Detrics", "/api/v1/../../metrics", "/page/../metrics", "/livez/", "/livez#/metrics"]
)
def test_another_spelling_of_a_path_is_not_found_with_any_token(guarded: Guarded, path: str) -> None:
    """What decides about the token and what finds the handler never read a path differently."""
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKENS['probe']}\r\n\r\n"
    assert guarded.managed.http.raw(head.encode())[9:12] == b"404"


def test_each_request_of_a_connection_needs_its_token(guarded: Guarded) -> None:
    asked = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n\r\n"
    right, wrong = TOKENS["probe"].encode(), WRONG.encode()
    answers_ = guarded.managed.http.raw(asked % right + asked % wrong + asked % right)
    assert re.findall(rb"HTTP/1.1 (\d+)", answers_) == [b"200", b"401"]


def test_a_drain_needs_the_token_and_the_header_that_no_web_page_sends(guarded: Guarded) -> None:
    assert guarded.ask("/drainz", method="POST", **CHANGE).status == 401
    assert guarded.ask("/drainz", TOKENS["read"], "POST", **CHANGE).status == 403
    assert guarded.ask("/drainz", TOKENS["drain"], "POST").status == 403
    assert guarded.ask("/drainz", TOKENS["drain"], "POST", Origin="http://a", **CHANGE).status == 403
    assert not guarded.managed.controller.facts.is_draining
    assert guarded.ask("/drainz", TOKENS["drain"], "POST", **CHANGE).status == 200
    assert guarded.managed.controller.facts.is_draining


def test_nothing_is_made_for_who_is_refused(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    """No object of aiohttp: the answer is made of the head's bytes."""
    made = Mock(side_effect=AssertionError)
    monkeypatch.setattr(gate.Guard, "give", made)
    monkeypatch.setattr(answers, "watched", made)
    assert [guarded.status(path, WRONG) for path in (*NEEDED, "/nothing")] == [401] * 6
    assert not made.called


def test_who_is_refused_fills_no_log_and_no_token_is_in_it(
    guarded: Guarded, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(gate.Gate, "now_s", lambda _: now[0])
    for _ in range(200):
        guarded.ask("/metrics", WRONG)
        guarded.ask(f"/api/v1/kv?token={TOKENS['probe']}", TOKENS["probe"])
    now[0] += access.LOG_INTERVAL_S
    guarded.ask("/metrics")
    lines = [one.getMessage() for one in caplog.records if "refused" in one.getMessage()]
    assert [re.sub(r":\d+ ", ":PORT ", line) for line in lines] == [
        "management port: refused a request of 127.0.0.1:PORT for /metrics: its token is not in "
        "rocketns.adminTokensFile (class scrape). Refused since the last such line: 1",
        "management port: refused a request of 127.0.0.1:PORT for /metrics: it has no token (class scrape). Refused "
        "since the last such line: 400",
    ]
    assert not any(token in caplog.text for token in (*TOKENS.values(), WRONG))


def test_no_answer_shows_a_token_or_its_digest(guarded: Guarded) -> None:
    """Nor does request 319, which names the file."""
    with guarded.managed.connect() as client:
        shown = [(client.request(codes.GET_NAMESRV_CONFIG).body or b"").decode()]
    shown += [guarded.ask(path, TOKENS["read"]).text for path in API]
    shown += [guarded.ask("/metrics", TOKENS["scrape"]).text, guarded.ask("/").text]
    assert str(guarded.file) in shown[0]
    assert not any(token in text for token in TOKENS.values() for text in shown)


def test_a_class_that_is_open_to_anyone_needs_no_token(guarded: Guarded) -> None:
    """Such as the kubelet, which cannot keep one secret."""
    guarded.file.write_text(f"probe anyone\nread {TOKENS['read']}\n")
    guarded.reread()
    assert [guarded.status(path) for path in ("/livez", "/readyz", "/metrics")] == [200, 200, 401]
    assert guarded.status("/livez", WRONG) == 200


def test_without_a_file_a_token_changes_nothing(managed: Managed) -> None:
    def asked(**headers: str) -> tuple[int, bytes, dict[str, str]]:
        answer = managed.http.ask("/readyz", headers=headers)
        return answer.status, answer.body, {name: one for name, one in answer.headers.items() if name != "date"}

    assert asked() == asked(**bearer(WRONG)) == asked(Authorization="x")
    assert "www-authenticate" not in asked()[2]
    assert managed.http.ask("/%72eadyz").status == 200


def test_the_test_file_is_read_by_nobody_else(tokens_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Else the log would say so: see test_file.py."""
    assert tokens_file.stat().st_mode & 0o077 == 0
    assert logging.WARNING not in {one.levelno for one in caplog.records}
