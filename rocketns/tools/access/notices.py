"""A policy in a few tables: the modes, the principals, and what to notice beside what the name server warns of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, collapse_addresses

from rocketns.access.classes import RIGHTS, Access, Mode
from rocketns.access.policy import Policy
from rocketns.access.principal import Globs, Network, Principal
from rocketns.tools.output import Report, TextTable

# What a principal may be held to, by the names of the file.
RESTRICTIONS = ("broker_names", "addresses", "address_is_peer", "kv_namespaces", "owns")

SHOWN_IN_A_CELL_MAX = 4
EVIDENCE = ("networks", "keys", "certificates")
RATE = "requests_per_second"
QUOTAS = (RATE, "brokers_max", "topics_max", "bytes_max")


def notices(policy: Policy) -> list[str]:
    """A sentence each. The warnings of the name server come first."""
    found = [*policy.warnings(), *_of_modes(policy), *_of_keys(policy)]
    for principal in policy.principals:
        found += _of_principal(principal)
    return [*found, *_shared_quotas({one: joined(one.networks) for one in policy.principals})]


def _of_modes(policy: Policy) -> Iterator[str]:
    off = [access for access in RIGHTS if policy.mode_of(access) is Mode.OFF]
    if policy.is_off:
        yield "all modes are off: nothing is refused, and nothing is told"
    elif off:
        open_to_all = ", as also all codes that no class has" if Access.ADMIN in off else ""
        yield f"{', '.join(off)}: off, whoever reaches the port may send such requests{open_to_all}"
    if policy.takeover is Mode.OFF:
        yield "takeover is off: a registration that takes a live broker's address away is not told"
    if not policy.principals:
        yield "there is no principal: whatever is asked in a mode other than off would be refused"


def _of_keys(policy: Policy) -> Iterator[str]:
    used = {key for principal in policy.principals for key in principal.keys}
    unused = sorted(policy.secrets.keys() - used)
    if unused:
        yield f"access keys of no principal, whose signatures give no right: {', '.join(map(repr, unused))}"


def _of_principal(principal: Principal) -> Iterator[str]:
    everywhere = [network for network in joined(principal.networks) if network.prefixlen == 0]
    if everywhere and principal.is_identified_by_network_alone:
        rights = ", ".join(sorted(principal.may)) or "nothing"
        yield f"principal {principal.name} is everybody at any address ({', '.join(map(str, everywhere))}): {rights}"
    elif everywhere:
        yield f"principal {principal.name}: {', '.join(map(str, everywhere))} is every address, and restricts nothing"
    if principal.certificates is not None and not principal.certificates.globs:
        yield f"principal {principal.name}: certificates is empty, so nobody is it"
    if not principal.may:
        yield f"principal {principal.name}: may is empty, so it may do nothing"


def _is_in(network: Network, networks: Iterable[Network]) -> bool:
    return any(network.version == one.version and network.subnet_of(one) for one in networks)  # type: ignore[arg-type]


def _are_in(globs: Globs | None, others: Globs) -> bool:
    return globs is not None and ("*" in others.globs or set(globs.globs) <= set(others.globs))


def _shared_quotas(networks: Mapping[Principal, list[Network]]) -> Iterator[str]:
    """Who shares a quota with every program of a network, as he has no other right to what he asks for."""
    for wide in (one for one in networks if one.is_identified_by_network_alone):
        quotas = [name for name in QUOTAS if _quota(wide, name) is not None]
        if not quotas:
            continue
        shares = [f"{one.name} for {', '.join(classes)}" for one, its in networks.items()
                  if one is not wide and (classes := _without_own_right(one, its, wide))]  # fmt: skip
        others = f". So {_few(shares)}: no other right" if shares else ""
        shown = ", ".join(map(str, networks[wide]))
        yield f"principal {wide.name}: every program in {shown} shares its {', '.join(quotas)}{others}"


def _quota(principal: Principal, name: str) -> int | None:
    found: int | None = getattr(principal if name == RATE else principal.bounds, name)
    return found


def _without_own_right(one: Principal, networks: Sequence[Network], wide: Principal) -> list[str]:
    """The classes that whoever is ``one`` may send as ``wide`` alone."""
    own = one.may | {Access.LOOKUP} if Access.BROKER in one.may else one.may
    return sorted(wide.may - own) if _is_always(one, networks, wide) else []


def _is_always(one: Principal, networks: Sequence[Network], other: Principal) -> bool:
    """Whether whoever is ``one``, which has these networks, is the other one too, as far as lists show that."""
    if other.networks and not (networks and all(_is_in(each, other.networks) for each in networks)):
        return False
    if other.keys and not (one.keys and one.keys <= other.keys):
        return False
    return other.certificates is None or _are_in(one.certificates, other.certificates)


def summary(policy: Policy) -> Report:
    """Of a policy that can be used."""
    modes = [(access.value, policy.mode_of(access).value) for access in RIGHTS]
    principals = TextTable(("PRINCIPAL", "KNOWN BY", "MAY", "ONLY"), [_row(one) for one in policy.principals])
    return [TextTable(("CLASS", "MODE"), [*modes, ("takeover", policy.takeover.value)]),
            *([principals] if policy.principals else []), *(f"notice: {one}" for one in notices(policy))]  # fmt: skip


def _row(one: Principal) -> tuple[str, ...]:
    evidence = [f"{name} {text}" for name in EVIDENCE if (text := _shown(getattr(one, name))) not in ("", "none")]
    only = [f"{name} {text}" for name in RESTRICTIONS if (text := _shown(getattr(one, name)))]
    bounds = [f"{name} {quota}" for name in QUOTAS if (quota := _quota(one, name)) is not None]
    may = [access.value for access in RIGHTS if access in one.may]
    return one.name, " and ".join(evidence), ", ".join(may) or "-", "; ".join((*only, *bounds)) or "-"


def _shown(value: Globs | Iterable[Network | str] | bool | None) -> str:
    """Empty: it is no restriction."""
    if isinstance(value, Globs):
        return _few(value.globs)
    if value is None or isinstance(value, bool):
        return "true" if value else ""
    return _few(sorted(one if isinstance(one, str) else plain(one) for one in value))


def _few(values: Sequence[str]) -> str:
    more = len(values) - SHOWN_IN_A_CELL_MAX
    return (", ".join(values[:SHOWN_IN_A_CELL_MAX]) or "none") + (f" and {more} more" if more > 0 else "")


def joined(networks: Iterable[Network]) -> list[Network]:
    """The same addresses in as few networks as possible, in order: all 256 of a /24 are that network."""
    listed = list(networks)
    fours = collapse_addresses(one for one in listed if isinstance(one, IPv4Network))
    sixes = collapse_addresses(one for one in listed if isinstance(one, IPv6Network))
    return [*fours, *sixes]


def plain(network: Network) -> str:
    """A network of one address as that address."""
    return str(network.network_address if network.prefixlen == network.max_prefixlen else network)
