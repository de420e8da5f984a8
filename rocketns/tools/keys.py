"""How name servers are asked: TLS, and the access key of the environment, whose secret is never shown."""

from __future__ import annotations

import argparse
import errno
import os
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rocketns.client.tls import client_context
from rocketns.config.system import parse_definition, system_properties
from rocketns.config.tls import TlsConfig
from rocketns.errors import RocketnsError
from rocketns.languages.parsers import add_language_option

if TYPE_CHECKING:
    from rocketns.access.signature import KeySigner

VARIABLES = ("ROCKETNS_ACCESS_KEY", "ROCKETNS_SECRET_KEY", "ROCKETNS_SECURITY_TOKEN")


def tls_of(options: argparse.Namespace, environment: Mapping[str, str]) -> TlsConfig:
    """The properties of TLS of ``-D`` and of the environment."""
    return TlsConfig.read(system_properties(environment, dict(options.system)), {})


def tls_context(config: TlsConfig) -> ssl.SSLContext | None:
    """How to connect; None: without TLS. OSError, which names the files, or TlsError where they cannot be used."""
    try:
        return client_context(config) if config.enable else None
    except FileNotFoundError:  # OpenSSL does not say which
        side = config.client
        files = " ".join(file for file in (side.trust_cert_path, side.cert_path, side.key_path) if file)
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), files) from None
    except ValueError as error:
        raise OSError(str(error)) from error


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """``-D`` and ``--language``: of each program that asks name servers."""
    parser.add_argument("-D", dest="system", action="append", default=[], type=parse_definition,
                        metavar="<name>=<value>",
                        help="a system property for TLS, as of the server: -Dtls.enable=true")  # fmt: skip
    add_language_option(parser)


def read_signer(environment: Mapping[str, str]) -> KeySigner | None:
    """What signs with the access key of the environment. None: there is none. RocketnsError for a part of it."""
    access_key, secret_key, security_token = given = [environment.get(name, "").strip() for name in VARIABLES]
    if not any(given):
        return None
    if not access_key or not secret_key:
        raise RocketnsError(f"{VARIABLES[0]} and {VARIABLES[1]} are needed to sign")
    # A build reads the options for the completions of shells, before anything is compiled.
    from rocketns.access.signature import KeySigner, Secret

    return KeySigner(access_key, Secret(secret_key), security_token)
