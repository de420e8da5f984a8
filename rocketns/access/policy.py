"""A policy: the principals, and what is done for each class of requests. It never changes: a new one replaces it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rocketns.access.classes import RIGHTS, Access, Mode
from rocketns.access.principal import Network, Principal, PrincipalIndex
from rocketns.access.signature import Secret
from rocketns.routeinfo.admission import PrincipalBounds

SIGNATURE_ALONE = (
    "principal {name} may send admin requests by signature alone. A signature covers neither code nor time: who sees a "
    "signed request can send it again, as an admin request too. Add networks or certificates to it"
)
RATE_BY_SIGNATURE_ALONE = (
    "principal {name} has requests_per_second by signature alone: who sees a signed request can send it again until "
    "the rate is used up. Add networks or certificates to it"
)
NETWORK_ALONE = (
    "principal {name} may send admin requests from {networks} without a signature or a certificate: so may every "
    "program there"
)


@dataclass(frozen=True)
class Policy:
    """``takeover``: what is done with a registration that would take a live broker's address away.

    Without principals and with all modes OFF, as `OPEN`, everything is allowed, as in Java.
    """

    principals: tuple[Principal, ...] = ()
    modes: Mapping[Access, Mode] = field(default_factory=dict)
    takeover: Mode = Mode.OBSERVE
    secrets: Mapping[str, Secret] = field(default_factory=dict, repr=False)

    def mode_of(self, access: Access) -> Mode:
        """That of ADMIN for codes without a class."""
        return self.modes.get(Access.ADMIN if access is Access.OFF else access, Mode.OFF)

    @cached_property
    def index(self) -> PrincipalIndex:
        """The principals by networks, certificates and keys."""
        return PrincipalIndex(self.principals)

    @cached_property
    def bounds(self) -> Mapping[str, PrincipalBounds]:
        """Of the principals that have any, by name."""
        return {one.name: one.bounds for one in self.principals if one.bounds != PrincipalBounds()}

    @cached_property
    def is_off(self) -> bool:
        """Whether nothing is decided."""
        return all(self.mode_of(access) is Mode.OFF for access in RIGHTS)

    @cached_property
    def guards_lookups(self) -> bool:
        """Whether lookups are decided."""
        return self.mode_of(Access.LOOKUP) is not Mode.OFF

    @cached_property
    def closes_strangers(self) -> bool:
        """Whether a connection from an address in none of the networks can do nothing at all."""
        return all(self.mode_of(access) is Mode.ENFORCE for access in RIGHTS) and all(
            principal.networks for principal in self.principals
        )

    def networks(self) -> Iterator[tuple[Network, bool]]:
        """Each network of a principal, and whether lookups are allowed from there by the network alone."""
        for principal in self.principals:
            looks_up = principal.is_identified_by_network_alone and principal.may_look_up()
            for network in principal.networks:
                yield network, looks_up

    def warnings(self) -> Iterator[str]:
        """What an operator should know of the policy, a sentence each."""
        for principal in self.principals:
            if principal.is_identified_by_key_alone and principal.requests_per_second is not None:
                yield RATE_BY_SIGNATURE_ALONE.format(name=principal.name)
            if Access.ADMIN not in principal.may:
                continue
            if principal.is_identified_by_key_alone:
                yield SIGNATURE_ALONE.format(name=principal.name)
            if principal.is_identified_by_network_alone:
                networks = ", ".join(map(str, principal.networks))
                yield NETWORK_ALONE.format(name=principal.name, networks=networks)


OPEN = Policy()
