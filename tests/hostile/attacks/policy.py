"""The policy of the attacked servers, and who is who: an address of this machine, a key, a certificate."""

from __future__ import annotations

CLASSES = ("lookup", "read", "scan", "config", "broker", "admin")
FLEET = "127.0.0.1"  # brokers and operators
STRANGER = "127.0.0.2"  # a client's host: it may look up routes
OTHER_BROKER = "127.0.0.3"  # another broker of the fleet, which owns no group of others
UNKNOWN = "127.0.0.5"  # the policy does not name it
BOUND_BROKER = "127.0.0.4"  # a broker that may register names of its own only

# Access key → secret. They differ in what else their principals need, and in what they may do.
KEYS = {name: f"secret-of-{name}" for name in ("alone", "here", "shown", "looker")}
CERTIFICATE = "operator"
PRINCIPALS = f"""
[principals.clients]
networks = ["{STRANGER}"]
may = ["lookup"]

[principals.fleet]
networks = ["{FLEET}"]
may = ["read", "scan", "config", "broker", "admin"]
owns = ["*"]

[principals.other-broker]
networks = ["{OTHER_BROKER}"]
may = ["broker"]

[principals.bound-broker]
networks = ["{BOUND_BROKER}"]
may = ["broker"]
broker_names = ["own-*"]

[principals.by-key-alone]
keys = ["alone"]
may = ["lookup", "read", "config", "admin"]

[principals.by-key-and-network]
keys = ["here"]
networks = ["{FLEET}"]
may = ["lookup", "read", "config", "admin"]

[principals.by-key-and-certificate]
keys = ["shown"]
certificates = ["CN={CERTIFICATE}"]
may = ["lookup", "read", "config", "admin"]

[principals.looks-up-only]
keys = ["looker"]
may = ["lookup"]
"""


def policy(mode: str) -> str:
    """The text of the policy file: all classes in one mode."""
    modes = "".join(f'{name} = "{mode}"\n' for name in (*CLASSES, "takeover"))
    keys = "".join(f'\n[keys.{name}]\nsecret = "{secret}"\n' for name, secret in KEYS.items())
    return f"[modes]\n{modes}{PRINCIPALS}{keys}"
