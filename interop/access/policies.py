"""The policy of a small installation: brokers, clients and mqadmin by signature, old brokers by network."""

from __future__ import annotations

import json
from pathlib import Path

from interop.harness.rocketmq.admin import Admin

BROKERS, CLIENTS, OPERATORS = "inner-brokers", "clients", "operators"
SECRETS = {BROKERS: "secret-of-brokers", CLIENTS: "secret-of-clients", OPERATORS: "secret-of-operators"}
CLASSES = ("lookup", "read", "scan", "config", "broker", "admin")

POLICY = """
secrets = "secrets"

[modes]
{modes}

[principals.brokers]
keys = ["inner-brokers"]
may = ["broker"]
broker_names = ["broker-*"]

[principals.clients]
keys = ["clients"]
may = ["lookup"]

[principals.operators]
keys = ["operators"]
networks = ["127.0.0.0/8"]
may = ["lookup", "read", "scan", "config", "admin"]
"""
OLD_BROKERS = """
[principals.old-brokers]
networks = ["127.0.0.1"]
may = ["broker"]
"""

# What a broker from 5.3 signs with whatever it sends to name servers. It keeps the user, so it wants to know where.
SIGNING_BROKER = {
    "authenticationMetadataProvider": (
        "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider"
    ),
    "innerClientAuthenticationCredentials": json.dumps({"accessKey": BROKERS, "secretKey": SECRETS[BROKERS]}),
}
SIGNING_CLIENT = (f"-Dinterop.accessKey={CLIENTS}", f"-Dinterop.secretKey={SECRETS[CLIENTS]}")
SIGNING_PROGRAM = {"INTEROP_ACCESS_KEY": CLIENTS, "INTEROP_SECRET_KEY": SECRETS[CLIENTS]}


def write_policy(folder: Path, mode: str, more: str = "") -> dict[str, object]:
    """The files of a policy with one mode for all classes, and the property that names them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "secrets").write_text("".join(f"{key} {secret}\n" for key, secret in SECRETS.items()), "utf-8")
    modes = "\n".join(f'{access} = "{mode}"' for access in CLASSES)
    (folder / "access.toml").write_text(POLICY.format(modes=modes) + more, "utf-8")
    return {"rocketns.accessFile": folder / "access.toml"}


def give_keys(admin: Admin) -> Admin:
    """mqadmin signs with the keys of ``conf/tools.yml``."""
    folder = admin.java.home / "conf"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tools.yml").write_text(f"accessKey: {OPERATORS}\nsecretKey: {SECRETS[OPERATORS]}\n", "utf-8")
    return admin
