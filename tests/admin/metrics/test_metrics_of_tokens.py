"""What a scrape shows about requests without the right token, and about TLS of the management port."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness.wire import eventually
from tests.admin.conftest import Managed
from tests.admin.scraping import Scraped
from tests.support.tlsclient import any_server

TOKEN, OTHER = "token-of-scrape-0123456789", "token-of-probe-0123456789"

pytestmark = pytest.mark.usefixtures("no_old_numbers")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def scrape(managed: Managed) -> Scraped:
    return Scraped(managed.http.ask("/metrics", headers=bearer(TOKEN)).text)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "tokens"
    made.write_text(f"scrape {TOKEN}\nprobe {OTHER}\n")
    return made


@pytest.fixture
def guarded(start_managed: Callable[..., Managed], file: Path) -> Managed:
    return start_managed({"rocketns.adminTokensFile": file})


def test_refused_requests_are_counted_by_their_reason(guarded: Managed) -> None:
    for headers in ({}, {}, {}, bearer("x" * 20), bearer("x" * 20), bearer(OTHER)):
        assert guarded.http.ask("/metrics", headers=headers).status in (401, 403)
    seen = scrape(guarded)
    reasons = ("no_token", "wrong_token", "wrong_class")
    assert [seen("rocketns_admin_requests_refused_total", reason=one) for one in reasons] == [3, 2, 1]


def test_a_file_of_tokens_that_became_wrong_is_counted(guarded: Managed, file: Path) -> None:
    """The port looks at the file by itself too, so it may be counted twice."""
    assert scrape(guarded)("rocketns_admin_tokens_reload_failures_total") == 0
    file.write_text("scrape")
    assert guarded.admin is not None
    guarded.admin.reread()
    eventually(lambda: (scrape(guarded)("rocketns_admin_tokens_reload_failures_total") or 0) >= 1)


def test_handshakes_of_the_management_port_are_counted(start_managed: Callable[..., Managed]) -> None:
    managed = start_managed({"rocketns.adminTls": "true"})
    with managed.http.connect() as nonsense:
        nonsense.sendall(b"GET / HTTP/1.1\r\n\r\n")
        while nonsense.recv(100):
            pass
    with any_server().wrap_socket(managed.http.connect()) as peer:
        peer.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        got = b""
        while part := peer.recv(65_536):
            got += part
    body = got.partition(b"\r\n\r\n")[2].decode()
    seen = Scraped(body)
    results = ("succeeded", "failed")
    assert [seen("rocketns_admin_tls_handshakes_total", result=one) for one in results] == [1, 1]
