"""The policy of a small installation: brokers, clients, a proxy and operators by signature, old brokers by network."""

from __future__ import annotations

import json
from pathlib import Path

from interop.harness.rocketmq.admin import Admin

BROKERS, CLIENTS, PROXIES, OPERATORS = "inner-brokers", "clients", "proxies", "operators"
SECRETS = {key: f"secret-of-{key}" for key in (BROKERS, CLIENTS, PROXIES, OPERATORS)}
CLASSES = ("lookup", "read", "scan", "config", "broker", "admin")
# The address that the brokers of RocketMQ 4 come from: they cannot sign.
OLD_BROKERS_HOST = "127.0.0.2"
NAMESPACE = "interop"

POLICY = f"""
secrets = "secrets"

[principals.brokers]
keys = ["{BROKERS}"]
may = ["broker"]
broker_names = ["broker-*"]

[principals.old-brokers]
networks = ["{OLD_BROKERS_HOST}"]
may = ["broker"]
broker_names = ["old-*"]

[principals.clients]
keys = ["{CLIENTS}", "{PROXIES}"]
may = ["lookup"]

[principals.operators]
keys = ["{OPERATORS}"]
networks = ["127.0.0.1"]
may = ["lookup", "read", "scan", "config", "admin"]
kv_namespaces = ["{NAMESPACE}", "ORDER_TOPIC_CONFIG"]
"""


def credentials(key: str) -> str:
    """As brokers from 5.3 and the proxy take them, in JSON."""
    return json.dumps({"accessKey": key, "secretKey": SECRETS[key]})


# What a broker from 5.3 signs with whatever it sends to name servers. It keeps the user, so it wants to know where.
SIGNING_BROKER = {
    "authenticationMetadataProvider": (
        "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider"
    ),
    "innerClientAuthenticationCredentials": credentials(BROKERS),
}
# Its credentials alone sign nothing.
SIGNING_PROXY = {
    "enableAclRpcHookForClusterMode": True,
    "innerClientAuthenticationCredentials": credentials(PROXIES),
}
SIGNING_PROGRAM = {"INTEROP_ACCESS_KEY": CLIENTS, "INTEROP_SECRET_KEY": SECRETS[CLIENTS]}


def signs_as(key: str, secret: str = "") -> tuple[str, ...]:
    """Options of a Java client."""
    return f"-Dinterop.accessKey={key}", f"-Dinterop.secretKey={secret or SECRETS[key]}"


def write_policy(folder: Path, mode: str, text: str = POLICY) -> dict[str, object]:
    """The files of a policy with one mode for all classes, and the property that names them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "secrets").write_text("".join(f"{key} {secret}\n" for key, secret in SECRETS.items()), "utf-8")
    modes = "".join(f'{access} = "{mode}"\n' for access in CLASSES)
    (folder / "access.toml").write_text(f"{text}\n[modes]\n{modes}", "utf-8")
    return {"rocketns.accessFile": folder / "access.toml"}


def give_keys(admin: Admin) -> Admin:
    """mqadmin signs with the keys of ``conf/tools.yml``."""
    folder = admin.java.home / "conf"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tools.yml").write_text(f"accessKey: {OPERATORS}\nsecretKey: {SECRETS[OPERATORS]}\n", "utf-8")
    return admin
