"""TLS: passed unread without keys, ended by the shadow with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from tests.shadow.whole.shadows import Shadow, register
from tests.support.certificates import Files, authority
from tests.support.tlsclient import TlsClient
from tests.support.tlsfiles import as_options, tls_properties


def test_tls_without_keys_reaches_the_upstream_and_is_not_compared(tmp_path: Path, upstream: NameServer) -> None:
    shadow = Shadow(tmp_path, upstream.port)
    with TlsClient(shadow.port) as client:
        register(client)
        assert shadow.relay("tls") == 1
        assert shadow.relay("equal") == 0
    shadow.process.wait_for("a client speaks TLS: its bytes pass to the upstream unread")
    shadow.process.kill()


@pytest.mark.parametrize("to_upstream", ["false", "true"])
def test_tls_with_keys_is_compared_and_served(tmp_path: Path, upstream: NameServer, to_upstream: str) -> None:
    files = Files.write(tmp_path / "tls", authority("shadow"))
    options = as_options(tls_properties(files) | {"tls.enable": to_upstream})
    shadow = Shadow(tmp_path, upstream.port, *options)
    with TlsClient(shadow.port) as client:
        register(client)
        eventually(lambda: shadow.relay("equal") == 1)
        shadow.serve()
        assert client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T1"}).code == 0
        eventually(lambda: (shadow.relay("served"), shadow.relay("equal")) == (1, 2))
    with shadow.connect() as plain:
        register(plain)
    shadow.process.kill()
