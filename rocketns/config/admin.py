"""The properties for who asks: access control, and the management port with metrics, probes and the status page."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocketns.addresses import listed
from rocketns.config.address_texts import Network, read_networks
from rocketns.config.properties import PREFIX, Effect, OwnConfig, prop
from rocketns.errors import StartupError

START = Effect.START
NAMES_MAX = 64
HOST_NAME = re.compile(r"\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")


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

    views_file: str = prop(
        "", "file with views (TOML): which addresses of brokers clients get, by their network or by the port at which "
        "they ask; empty is the announced ones for all, as in Java. Changes of the file take effect at once, see "
        "docs/views.md", START,
    )  # fmt: skip

    def check_texts(self) -> None:
        """StartupError for a network that is none, and for too many."""
        read_networks(f"{PREFIX}trustedProxies", self.trusted_proxies)

    @property
    def proxies(self) -> list[Network]:
        """``trustedProxies`` one by one."""
        return read_networks(f"{PREFIX}trustedProxies", self.trusted_proxies)


@dataclass(slots=True)
class AdminConfig(OwnConfig):
    """Where the management port listens, under which host names it answers, and whom: by TLS, tokens and networks."""

    title = "Management port"

    admin_port: int = prop(
        0, "port of the HTTP server with metrics, probes and the status page; 0 is off. It needs the extra "
        "rocketns[admin]", START, low=0, high=65_535,
    )  # fmt: skip
    admin_address: str = prop(
        "127.0.0.1", "address of the management port; who reaches it may read it, unless adminTokensFile is set", START
    )
    admin_tls: bool = prop(
        False,
        "true: the management port takes TLS alone, with the files and the client authentication of "
        "tls.server.…, whatever tls.server.mode is",
        START,
    )
    admin_tokens_file: str = prop(
        "",
        "file of bearer tokens, a line each: classes (probe, scrape, read, drain) and the token. With it, a request "
        "needs a token of its path's class; empty asks nobody. It is read again when it changes, and at SIGHUP",
        START,
    )
    admin_drain_from: str = prop(
        "", "networks that may ask for a drain, in addition to the machine itself: 10.0.0.0/8;192.0.2.7", START
    )
    admin_hosts: str = prop(
        "", "host names under which browsers may open the status page and the API, in addition to IP addresses, "
        "localhost, the machine's name and adminAddress: ns-1.example.com;.monitoring.svc. A name that begins with a "
        "dot stands for all names that end with it", START,
    )  # fmt: skip

    def check_texts(self) -> None:
        """StartupError for a network or a host name that is none, and for too many."""
        read_networks(f"{PREFIX}adminDrainFrom", self.admin_drain_from)
        if len(self.host_names) > NAMES_MAX:
            raise StartupError(f"{PREFIX}adminHosts has {len(self.host_names)} names, but at most {NAMES_MAX} are "
                               "allowed")  # fmt: skip
        for name in self.host_names:
            if not HOST_NAME.fullmatch(name):
                raise StartupError(f"{PREFIX}adminHosts: {name!r} is not a host name; give it without a port")

    @property
    def host_names(self) -> list[str]:
        """``adminHosts`` one by one."""
        return listed(self.admin_hosts)

    @property
    def drain_networks(self) -> list[Network]:
        """``adminDrainFrom`` one by one. StartupError if one of them is no network."""
        return read_networks(f"{PREFIX}adminDrainFrom", self.admin_drain_from)
