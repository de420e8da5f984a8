"""One server's life with all that it does to the system: each thread, file, port and signal at least once."""

from __future__ import annotations

import signal
import socket
from contextlib import ExitStack
from pathlib import Path

from interop.harness import codes
from interop.harness.payloads import compressed_body, register_body, register_ext, topic_config
from interop.harness.ports import free_port
from interop.harness.servers import RocketnsServer
from interop.harness.wire import eventually
from tests.admin.http import Http
from tests.behaviour import calls, views
from tests.support.certificates import Files, authority
from tests.support.tlsclient import TlsClient, answers, any_server
from tests.support.tlsfiles import as_options, tls_properties

TOPICS = [topic_config(f"topic-{number}") for number in range(2_000)]
LOOKUPS = 50


def live(folder: Path, kind: type[RocketnsServer]) -> None:
    """Start a server, use everything, restart it with its journal, stop it."""
    properties = {
        "journalPath": folder / "journal",
        "rocketns.adminPort": free_port(),
        "rocketns.addressServer": free_port(),
        "notifyMinBrokerIdChanged": "true",
    }
    client_files, options = certificates(folder)
    server = kind(folder / "ns", properties, options=options)
    try:
        with ExitStack() as brokers:
            register(server, client_files, brokers)
            look_up(server)
            serve_operators(server, int(str(properties["rocketns.adminPort"])))
            listing = Http(int(str(properties["rocketns.addressServer"])))
            eventually(lambda: b"127.0.0.1" in listing.ask("/rocketmq/nsaddr").body)
            heed_signals(server)
            server.restart()  # it reads its journal, and asks the brokers of it whether they are there
            look_up(server)
        assert server.stop() == 0
    finally:
        server.kill()


def certificates(folder: Path) -> tuple[Files, list[str]]:
    """A client's certificate, and a server's options: it asks for one and takes any, which is decided in Python."""
    signer = authority("confined")
    server = Files.write(folder / "server", signer.issue("localhost"))
    wanted = tls_properties(server, **{"need.client.auth": "optional", "authClient": "false"})
    return Files.write(folder / "client", signer.issue("client")), as_options(wanted)


def register(server: RocketnsServer, client_files: Files, brokers: ExitStack) -> None:
    """A master by JSON, its slave by a compressed body over TLS. Their host name has to be looked up."""
    master = brokers.enter_context(server.connect())
    slave = brokers.enter_context(TlsClient(server.port, context=any_server(client_files)))
    for broker_id, (client, body) in enumerate(((master, register_body(TOPICS)), (slave, compressed_body(TOPICS)))):
        listener = brokers.enter_context(socket.create_server(("127.0.0.1", 0)))
        more = {"addr": f"localhost:{listener.getsockname()[1]}", "compressed": "true" if broker_id else "false"}
        ext = register_ext(broker_id=broker_id, body=body, **more)
        assert client.request(codes.REGISTER_BROKER, ext, body).code == 0


def look_up(server: RocketnsServer) -> None:
    with server.connect() as plain, TlsClient(server.port) as encrypted:
        for number in range(LOOKUPS):
            assert views.route(plain, f"topic-{number}")["brokerDatas"]
        assert views.route(encrypted, "topic-1")["brokerDatas"]


def serve_operators(server: RocketnsServer, admin_port: int) -> None:
    """KV items and properties, which are written to files; the management port."""
    with server.connect() as client:
        calls.put_kv(client, "N", "key", "kept")
        calls.switch(client, "orderMessageEnable", "true")
    for path in ("/livez", "/readyz", "/metrics", "/", "/api/v1/brokers"):
        assert Http(admin_port).ask(path).status in (200, 404), path


def heed_signals(server: RocketnsServer) -> None:
    """Files are read again at SIGHUP, stacks printed at SIGQUIT."""
    server.process.signal(signal.SIGHUP)
    server.process.signal(signal.SIGQUIT)
    eventually(lambda: "nid=" in server.process.text())
    with TlsClient(server.port) as client:
        assert answers(client)
