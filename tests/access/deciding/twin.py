"""The decision once more, written from the rules and not from the code: plain data, one rule after the other.

A principal is known by all the kinds of evidence that it names. One that is known, has the right and no restriction
against it allows the request. Nothing else does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from ipaddress import ip_address, ip_network

CLASSES = ("lookup", "read", "scan", "config", "broker", "admin")
CLASS_OF = {
    105: "lookup",
    101: "read", 106: "read", 206: "read", 219: "read", 304: "read", 21070: "read",
    224: "scan", 311: "scan", 312: "scan", 313: "scan",
    319: "config",
    103: "broker", 104: "broker", 217: "broker", 322: "broker", 901: "broker", 904: "broker",
    100: "admin", 102: "admin", 205: "admin", 216: "admin", 318: "admin", 327: "admin",
}  # fmt: skip


@dataclass
class Who:
    """A principal, with lists of texts as in the file. None: it is not in the file."""

    name: str
    may: list[str]
    networks: list[str] | None = None
    keys: list[str] | None = None
    certificates: list[str] | None = None
    broker_names: list[str] | None = None
    addresses: list[str] | None = None
    address_is_peer: bool = False
    kv_namespaces: list[str] | None = None


@dataclass
class Request:
    """A request with what is known of its sender. ``key``: that of a right signature. ``held_by``: the broker groups
    that have the address that it announces.
    """

    code: int
    host: str | None = None
    key: str | None = None
    certificates: list[str] = field(default_factory=list)
    brokers: list[str] = field(default_factory=list)
    broker_address: str | None = None
    namespace: str | None = None
    held_by: list[str] = field(default_factory=list)


def is_allowed(whos: list[Who], modes: dict[str, str], request: Request) -> bool:
    """Whether the request is carried out."""
    of_class = CLASS_OF.get(request.code)
    if modes.get(of_class or "admin", "off") != "enforce":
        return True
    return of_class is not None and any(is_who(who, request) and may(who, request, of_class) for who in whos)


def is_who(who: Who, request: Request) -> bool:
    """Whether the sender is this principal."""
    evidence = []
    if who.networks:
        evidence.append(is_in(who.networks, request.host))
    if who.keys:
        evidence.append(request.key in who.keys)
    if who.certificates is not None:
        evidence.append(any(matches(who.certificates, one) for one in request.certificates))
    return evidence != [] and all(evidence)


def may(who: Who, request: Request, of_class: str) -> bool:
    """Whether the principal's rights are enough. Brokers need no other right for what they send."""
    rights = {of_class}
    if request.code in (105, 106) or (of_class == "read" and request.namespace == "ORDER_TOPIC_CONFIG"):
        rights.add("broker")
    if rights.isdisjoint(who.may):
        return False
    if request.namespace is not None and not is_one_of(who.kv_namespaces, request.namespace):
        return False
    if not all(is_one_of(who.broker_names, name) for name in request.brokers):
        return False
    if request.broker_address is None:
        return True
    host = request.broker_address.rpartition(":")[0]
    if host != request.host and not all(is_one_of(who.broker_names, name) for name in request.held_by):
        return False
    if who.addresses is not None and not is_in(who.addresses, host):
        return False
    return not who.address_is_peer or host == request.host


def is_in(networks: list[str], host: str | None) -> bool:
    """Whether the address, of the same family, is in one of them."""
    try:
        address = ip_address(host or "")
    except ValueError:
        return False
    return any(address in ip_network(network) for network in networks)


def is_one_of(globs: list[str] | None, text: str) -> bool:
    """Without a list there is no restriction."""
    return globs is None or matches(globs, text)


def matches(globs: list[str], text: str) -> bool:
    """Capitals and small letters differ."""
    return any(fnmatchcase(text, glob) for glob in globs)
