"""The policy file: TOML. docs/security.md describes it with examples.

``[principals.NAME]`` says how a principal is known and what it may do. ``[keys.KEY]`` has the secret of an access key;
``secrets`` names a file with more of them, a key and its secret a line. ``plain_acl`` names RocketMQ 4's plain_acl.yml.

``[modes]`` is the last table, and has the mode of each class and of ``takeover``. So the beginning of a policy is never
a policy: a file that is half written is refused, wherever it ends. The files that it names have no such end, and what
they have less is less that somebody may. So each of their lines must be whole: the last one ends with an end of line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rocketns.access import plain_acl
from rocketns.access.classes import RIGHTS, Access, Mode
from rocketns.access.policy import Policy
from rocketns.access.policy_values import PolicyError, PolicyTable, ReadFile, add_secret, read_secrets
from rocketns.access.principal import Principal
from rocketns.access.signature import Secret
from rocketns.routeinfo.admission import PrincipalBounds

FILE_BYTES_MAX = 4 * 1024 * 1024  # of each of the files
PRINCIPALS_MAX = 1_000
KEYS_MAX = 10_000
NETWORKS_MAX = 4_096  # of all principals: a reactor looks through them for each new connection
RIGHT_OF = {access.value: access for access in RIGHTS}
MODES_HEADING = re.compile(r"^[ \t]*\[[ \t]*modes[ \t]*\][ \t\r]*(#.*)?$", re.MULTILINE)


def read_policy(file: str, text: str, read_file: ReadFile) -> Policy:
    """The policy of a text. ``read_file`` gives the texts of the files that it names. PolicyError."""
    headings = [found.start() for found in MODES_HEADING.finditer(text)]
    modes_at = headings[-1] if headings else len(text)
    top = PolicyTable(file, text, "", _toml(file, text[:modes_at]))
    secrets = _secrets(top, read_file)
    principals = [_principal(name, table, secrets) for name, table in top.tables("principals").items()]
    policy = _with_plain_acl(Policy(principals=tuple(principals), secrets=secrets), top, read_file)
    top.end()
    end = PolicyTable(file, text, "", _toml(file, "\n" * text.count("\n", 0, modes_at) + text[modes_at:]))
    table = end.table("modes")
    modes: dict[Access, Mode] = {access: table.mode(access.value) for access in RIGHTS}
    policy = replace(policy, modes=modes, takeover=table.mode("takeover"))
    table.end()
    end.end("the modes are the last table of the file, so put it before them")
    _check(policy, top)
    return policy


def _whole_lines(path: str, read_file: ReadFile) -> str:
    """The text of a file that the policy names. Half of a network is a larger one: 10.1.0.0/1 of 10.1.0.0/16."""
    text = read_file(path)
    if not text.endswith("\n"):
        raise PolicyError(
            path, text.count("\n") + 1, "its last line has no end, so it may be half written: end the line"
        )
    return text


def _toml(file: str, text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also for a number of more digits than Python reads
        raise PolicyError(file, 0, f"it is no TOML: {error}") from error
    except RecursionError:
        raise PolicyError(file, 0, "its lists or tables are nested too deeply") from None


def _secrets(top: PolicyTable, read_file: ReadFile) -> dict[str, Secret]:
    secrets: dict[str, Secret] = {}
    path = top.text("secrets")
    if path is not None:
        secrets |= read_secrets(path, _whole_lines(path, read_file))
    for key, table in top.tables("keys").items():
        secret = table.text("secret")
        if secret is None:
            table.refuse(None, "it has no secret")
        table.end()
        add_secret(secrets, key, secret, partial(table.refuse, None))
    if len(secrets) > KEYS_MAX:
        top.refuse("keys", f"{len(secrets)} access keys, more than {KEYS_MAX}")
    return secrets


def _principal(name: str, table: PolicyTable, secrets: dict[str, Secret]) -> Principal:
    keys = table.texts("keys") or ()
    for key in keys:
        if key not in secrets:
            table.refuse("keys", f"no secret of the access key {key!r}: give it in [keys.{key}] or in the file of "
                                 "secrets")  # fmt: skip
    principal = Principal(
        name=name,
        may=_rights(table),
        networks=table.networks("networks") or (),
        keys=frozenset(keys),
        certificates=table.globs("certificates"),
        broker_names=table.globs("broker_names"),
        addresses=table.networks("addresses"),
        address_is_peer=table.is_true("address_is_peer"),
        kv_namespaces=table.globs("kv_namespaces"),
        owns=table.globs("owns"),
        requests_per_second=table.number("requests_per_second", low=1),
        bounds=PrincipalBounds(table.number("brokers_max"), table.number("topics_max"), table.number("bytes_max")),
    )
    if not principal.networks and not principal.keys and principal.certificates is None:
        table.refuse(None, "it names neither networks nor keys nor certificates, so nobody is it")
    table.end()
    return principal


def _rights(table: PolicyTable) -> frozenset[Access]:
    words = table.texts("may")
    if words is None:
        table.refuse("may", f"it is missing: a list of {', '.join(RIGHT_OF)}")
    for word in words:
        if word not in RIGHT_OF:
            table.refuse("may", f"{word!r} must be one of {', '.join(RIGHT_OF)}")
    return frozenset(RIGHT_OF[word] for word in words)


def _with_plain_acl(policy: Policy, top: PolicyTable, read_file: ReadFile) -> Policy:
    path = top.text("plain_acl")
    if path is None:
        return policy
    principals, secrets = plain_acl.read(path, _whole_lines(path, read_file))
    names, others = ({one.name for one in each} for each in (principals, policy.principals))
    if twice := (names & others) | (secrets.keys() & policy.secrets.keys()):
        top.refuse("plain_acl", f"this file has the same principals or access keys: {', '.join(sorted(twice))}")
    return replace(policy, principals=policy.principals + principals, secrets={**policy.secrets, **secrets})


def _check(policy: Policy, top: PolicyTable) -> None:
    networks = sum(len(principal.networks) for principal in policy.principals)
    if len(policy.principals) > PRINCIPALS_MAX:
        top.refuse("principals", f"{len(policy.principals)} principals, more than {PRINCIPALS_MAX}")
    if networks > NETWORKS_MAX:
        top.refuse("principals", f"{networks} networks of all principals, more than {NETWORKS_MAX}")
    enforced = [access.value for access in RIGHTS if policy.mode_of(access) is Mode.ENFORCE]
    if enforced and not policy.principals:
        top.refuse("principals", f"there is none, and with these modes nobody may {' or '.join(enforced)}")
