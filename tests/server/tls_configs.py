"""TlsConfigs for tests, and a handshake between two sides without sockets."""

from __future__ import annotations

from rocketns._fast.tls.openssl import ServerContext
from rocketns.config.tls import TlsConfig
from rocketns.server.tls.contexts import build_server_context, read_pair
from tests.compiled.streams import Stream
from tests.support.certificates import Files
from tests.support.tlsclient import TlsPeer, Updating
from tests.support.tlsfiles import tls_properties

NO_FILE = {"tls.config.file": "/nonexistent/tls.properties"}


def config(**more: str) -> TlsConfig:
    """A TlsConfig from properties, whose names have an underscore for each dot."""
    return TlsConfig.read(NO_FILE | {name.replace("_", "."): value for name, value in more.items()}, {})


def files_config(files: Files, more: dict[str, str] | None = None, **server: str) -> TlsConfig:
    """A TlsConfig with certificate files; ``server`` are further ``tls.server.`` properties."""
    return TlsConfig.read(NO_FILE | tls_properties(files, **server) | (more or {}), {})


def context_of(config: TlsConfig) -> ServerContext:
    """The reactors' context."""
    return build_server_context(config, read_pair(config))


def shake_hands(stream: Stream, peer: TlsPeer | Updating) -> None:
    """Until both are done, or the stream has ended."""
    to_server = peer.shake_hands()
    while to_server or not peer.handshaken:
        assert stream.receive(to_server) == b""
        if stream.ended is not None:
            return
        to_server = peer.shake_hands(stream.outgoing()) if not peer.handshaken else b""
