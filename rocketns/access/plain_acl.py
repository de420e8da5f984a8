"""RocketMQ 4's plain_acl.yml: accounts with keys, and white lists (PlainPermissionManager, PlainAccessValidator).

An account may look up, read, scan and register; with ``admin: true`` also what changes the routes of others and the
configuration. White lists are networks: there no signature is needed, but for admin requests, as Java's 5.x has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from ipaddress import ip_address, ip_network, summarize_address_range
from typing import Any, NoReturn

from rocketns.access.classes import RIGHTS, Access
from rocketns.access.policy_values import PolicyError, add_secret
from rocketns.access.principal import Network, Principal
from rocketns.access.signature import Secret
from rocketns.errors import install_command

EVERYWHERE = ("*", "*.*.*.*", "*:*:*:*:*:*:*:*")
ACCOUNTS_MAX = 1_000
ORDINARY = frozenset({Access.LOOKUP, Access.READ, Access.SCAN, Access.BROKER})
ALL = frozenset(RIGHTS)
GLOBAL = "globalWhiteRemoteAddresses"
TRUE = ("true", "yes", "on")
# What a message of YAML's quotes of the file may be a secret: *abc is an alias, !abc a tag.
QUOTED = re.compile(r"'.*'|\".*\"", re.DOTALL)


def networks_of(text: str) -> Iterator[Network]:
    """The networks of one entry: ``a,b`` are two, ``10.0.0.{1,2}`` are ``10.0.0.1`` and ``10.0.0.2``. ValueError. An
    empty text is nobody.
    """
    stripped = text.strip()
    if stripped in EVERYWHERE:
        yield from (ip_network("0.0.0.0/0"), ip_network("::/0"))
    elif found := re.fullmatch(r"([^{}]*)\{([^{}]*)\}", stripped):
        yield from (network for item in found[2].split(",") for network in _networks(found[1] + item.strip()))
    else:
        yield from (network for item in stripped.split(",") if item.strip() for network in _networks(item.strip()))


def _networks(item: str) -> Iterator[Network]:
    """From the first address to the last one. After the first part with ``*`` or ``-`` there may only be ``*``."""
    separator, most = (":", "ffff") if ":" in item else (".", "255")
    lows, highs, is_open = [], [], False
    for part in item.split(separator):
        if is_open and part != "*":
            raise ValueError(f"{item!r}: after * and - only * may follow")
        low, dash, high = ("0", "-", most) if part == "*" else part.partition("-")
        lows.append(low)
        highs.append(high if dash else low)
        is_open = is_open or bool(dash)
    yield from summarize_address_range(ip_address(separator.join(lows)), ip_address(separator.join(highs)))


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
        raise PolicyError(file, 0, f"PyYAML is needed to read it: {install_command('access')}") from error
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
    account = account if isinstance(account, dict) else {}
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
