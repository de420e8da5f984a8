"""How name servers are asked: TLS, and access keys of mqadmin's conf/tools.yml or the environment, never shown."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rocketns import files
from rocketns.config.system import parse_definition, system_properties
from rocketns.config.tls import TlsConfig
from rocketns.errors import RocketnsError
from rocketns.extras import install_command
from rocketns.languages.parsers import add_language_option

if TYPE_CHECKING:
    from rocketns.access.signature import KeySigner

TOOLS_YML_BYTES_MAX = 64 * 1024
VARIABLES = ("ROCKETNS_ACCESS_KEY", "ROCKETNS_SECRET_KEY", "ROCKETNS_SECURITY_TOKEN")
# What a message of YAML's quotes of the file may be the secret.
QUOTED = re.compile(r"'.*'|\".*\"", re.DOTALL)


class KeysError(RocketnsError):
    """The keys cannot be read; the text says why."""


def add_system_option(parser: argparse.ArgumentParser) -> None:
    """``-D``: see `tls_of`."""
    parser.add_argument("-D", dest="system", action="append", default=[], type=parse_definition,
                        metavar="<name>=<value>",
                        help="a system property for TLS, as of the server: -Dtls.enable=true")  # fmt: skip


def tls_of(options: argparse.Namespace, environment: Mapping[str, str]) -> TlsConfig:
    """The properties of TLS of ``-D`` and of the environment."""
    return TlsConfig.read(system_properties(environment, dict(options.system)), {})


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """``-D``, ``--tools-yml`` and ``--language``: of each program that asks name servers."""
    add_system_option(parser)
    parser.add_argument("--tools-yml", metavar="FILE",
                        help="sign all requests with the accessKey and secretKey of this file, as mqadmin does with "
                        f"its conf/tools.yml; by default with {VARIABLES[0]} and {VARIABLES[1]} of the environment, "
                        "if they are set")  # fmt: skip
    add_language_option(parser)


def read_signer(path: str | None, environment: Mapping[str, str]) -> KeySigner | None:
    """What signs with the keys of a tools.yml, or without one with those of the environment. None: there are none.

    KeysError where a file has none, or only a part of them is given.
    """
    if path is not None:
        return _signer(path, *_of_file(path))
    given = [environment.get(name, "") for name in VARIABLES]
    return _signer(f"{VARIABLES[0]} and {VARIABLES[1]}", *given) if any(given) else None


def _signer(source: str, access_key: str, secret_key: str, security_token: str = "") -> KeySigner:
    if not access_key.strip() or not secret_key.strip():
        raise KeysError(f"{source}: an access key and a secret key are needed to sign")
    # A build reads the options for the completions of shells, before anything is compiled.
    from rocketns.access.signature import KeySigner, Secret

    return KeySigner(access_key, Secret(secret_key), security_token)


def _of_file(path: str) -> tuple[str, str]:
    document = _load(path)
    given = [document.get(name) for name in ("accessKey", "secretKey")]
    if not all(isinstance(value, str) for value in given):
        raise KeysError(f"{path}: accessKey and secretKey expected, each with a text")
    return str(given[0]), str(given[1])


def _load(path: str) -> dict[str, Any]:
    try:
        import yaml
    except ImportError as error:
        raise KeysError(f"PyYAML is needed to read {path}: {install_command('access')}") from error
    try:
        # All values stay texts as they are written: a secret of digits is no number.
        document = yaml.load(files.read_text(path, TOOLS_YML_BYTES_MAX), Loader=yaml.BaseLoader)
    except (OSError, ValueError) as error:
        raise KeysError(f"{path} cannot be read: {error}") from None
    except (yaml.YAMLError, RecursionError) as error:
        problem = QUOTED.sub("'…'", getattr(error, "problem", None) or "it is nested too deeply")
        raise KeysError(f"{path} is no YAML: {problem}") from None
    if not isinstance(document, dict):
        raise KeysError(f"{path}: accessKey and secretKey expected")
    return document
