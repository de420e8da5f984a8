"""RocketMQ 4's plain_acl.yml: accounts with keys, and white lists (PlainPermissionManager, PlainAccessValidator).

An account may look up, read, scan and register; with ``admin: true`` also what changes the routes of others and the
configuration. White lists are networks: there no signature is needed, but for admin requests, as Java's 5.x has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NoReturn

from rocketns.access.classes import RIGHTS, Access
from rocketns.access.principal import Principal
from rocketns.access.reading.errors import PolicyError
from rocketns.access.reading.secrets_file import add_secret
from rocketns.access.reading.white_list import networks_of
from rocketns.access.signing.secret import Secret

ACCOUNTS_MAX = 1_000
ORDINARY = frozenset({Access.LOOKUP, Access.READ, Access.SCAN, Access.BROKER})
ALL = frozenset(RIGHTS)
GLOBAL = "globalWhiteRemoteAddresses"
TRUE = ("true", "yes", "on")
# What a message of YAML's quotes of the file may be a secret: *abc is an alias, !abc a tag.
QUOTED = re.compile(r"'.*'|\".*\"", re.DOTALL)


def read(file: str, text: str) -> tuple[tuple[Principal, ...], dict[str, Secret]]:
    """The principals and the secrets of the file. PolicyError. It needs PyYAML: the extra ``rocketns[access]``."""
    document = _load(file, text)
    secrets: dict[str, Secret] = {}
    principals = list(_white_listed(file, "plain_acl", GLOBAL, document.get(GLOBAL), ORDINARY))
    accounts = document.get("accounts") or []
    if not isinstance(accounts, list) or len(accounts) > ACCOUNTS_MAX:
        _refuse(file, f"accounts must be a list of at most {ACCOUNTS_MAX}")
    for account in accounts:
        principals += _of_account(file, account, secrets)
    return tuple(principals), secrets


def _load(file: str, text: str) -> dict[str, Any]:
    try:
        import yaml
    except ImportError as error:
        raise PolicyError(file, 0, "PyYAML is needed to read it: pip install 'rocketns[access]'") from error
    try:
        # All values stay texts as they are written: 0123 is no octal number, and no secret becomes a date.
        document = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = QUOTED.sub("'…'", getattr(error, "problem", None) or "it cannot be read")
        raise PolicyError(file, mark.line + 1 if mark else 0, f"it is no YAML: {problem}") from None
    except RecursionError:
        _refuse(file, "its lists or maps are nested too deeply")
    if not isinstance(document, dict):
        _refuse(file, "it has no accounts")
    return document


def _of_account(file: str, account: Any, secrets: dict[str, Secret]) -> Iterator[Principal]:
    if not isinstance(account, dict):
        _refuse(file, "each account must have accessKey and secretKey")
    key, secret = account.get("accessKey"), account.get("secretKey")
    if not isinstance(key, str) or not key or not isinstance(secret, str):
        _refuse(file, "each account must have accessKey and secretKey")
    add_secret(secrets, key, secret, partial(_refuse, file))
    may = ALL if str(account.get("admin")).lower() in TRUE else ORDINARY
    yield Principal(f"plain_acl {key}", may, keys=frozenset({key}))
    addresses = account.get("whiteRemoteAddress")
    yield from _white_listed(file, f"plain_acl {key} by address", f"whiteRemoteAddress of {key}", addresses, may)


def _white_listed(file: str, name: str, key: str, texts: Any, may: frozenset[Access]) -> Iterator[Principal]:
    listed = [texts] if isinstance(texts, str) else texts or []
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        _refuse(file, f"{key} must be a list of texts")
    try:
        networks = tuple(network for text in listed for network in networks_of(text))
    except ValueError as error:
        _refuse(file, f"{key}: {error}")
    if networks:
        yield Principal(name, may - {Access.ADMIN, Access.CONFIG}, networks=networks)


def _refuse(file: str, why: str) -> NoReturn:
    raise PolicyError(file, 0, why)
