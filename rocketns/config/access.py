"""The properties of access control: who may do what, and whose word about other addresses counts."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.config.properties import PREFIX, Effect, OwnConfig, prop
from rocketns.config.texts.networks import Network, read_networks

START = Effect.START


@dataclass(slots=True)
class AccessConfig(OwnConfig):
    """What a peer must show before its requests count. The policy is read again when its file changes."""

    title = "Access control"

    access_file: str = prop(
        "", "file with the policy (TOML): who may send which requests; empty is no access control, as in Java. Changes "
        "of the file take effect at once, see docs/security.md", START,
    )  # fmt: skip
    trusted_proxies: str = prop(
        "", "networks of load balancers whose PROXY headers count: 10.0.0.0/8;192.0.2.7. A connection from another "
        "address is closed if it begins with such a header. Empty: each peer may send one, as to Java's name server",
        START,
    )  # fmt: skip

    def check_texts(self) -> None:
        """StartupError for a network that is none, and for too many."""
        read_networks(f"{PREFIX}trustedProxies", self.trusted_proxies)

    @property
    def proxies(self) -> list[Network]:
        """``trustedProxies`` one by one."""
        return read_networks(f"{PREFIX}trustedProxies", self.trusted_proxies)
