"""TLS where plain is spoken, and the other way round."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.doctor.conftest import Told
from interop.doctor.diagnosis import Cause, examine
from interop.doctor.site import BROKER_PORT, Site, address_of
from interop.harness import views
from interop.harness.wire import eventually
from tests.support.certificates import Files, authority

TOPIC = "Orders"
REGISTERED_WITHIN_S = 60.0
TLS = "-Dtls.enable=true"


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, ...]:
    """Options of servers with a certificate of their own."""
    files = Files.write(tmp_path / "tls", authority("interop authority").issue("localhost", rsa_bits=2048))
    pair = (f"-Dtls.server.certPath={files.certificate}", f"-Dtls.server.keyPath={files.key}")
    return ("-Dtls.test.mode.enable=false", *pair)


def test_name_servers_that_take_tls_alone_are_named(site: Site, certificate: tuple[str, ...], told: Told) -> None:
    """The client speaks plain. With the option that is printed all is well."""
    servers = site.name_servers(["-Dtls.server.mode=enforcing", *certificate])
    site.broker("broker-a", servers, topics=[TOPIC], options=(TLS,))
    for server in servers:
        said = examine(site.client, [server], "--topic", TOPIC)
        told(f"TLS alone, asked without, {server.kind}", said)
        said.names_first(Cause(("tls",), (address_of(server), "TLS"), (), (TLS,)))
    assert ".remoting.exception.Remoting" in site.error_of_producer(servers, TOPIC)
    for server in servers:
        eventually(lambda server=server: not examine(site.client, [server], "--topic", TOPIC, TLS).of("ill"), 30.0)
        said = examine(site.client, [server], "--topic", TOPIC, TLS)
        told(f"TLS alone, asked with it, {server.kind}", said)
        said.is_well()


def test_servers_that_take_no_tls_and_a_broker_that_takes_nothing_else_are_named(site: Site, told: Told) -> None:
    servers = site.name_servers(["-Dtls.server.mode=disabled"])
    site.broker("broker-a", servers, topics=[TOPIC], options=("-Dtls.server.mode=enforcing", "-Dtls.enable=false"))
    with site.client.inside():
        eventually(lambda: all("broker-a" in views.brokers(server) for server in servers), REGISTERED_WITHIN_S)
    for server in servers:
        said = examine(site.client, [server], "--topic", TOPIC, TLS)
        told(f"no TLS, asked with it, {server.kind}", said)
        said.names_first(Cause(("tls",), (address_of(server), "TLS")))
        said = examine(site.client, [server], "--topic", TOPIC)
        told(f"a broker that takes TLS alone, asked without, {server.kind}", said)
        said.names_first(Cause(("tls",), (f"10.20.0.21:{BROKER_PORT}", "TLS")))
