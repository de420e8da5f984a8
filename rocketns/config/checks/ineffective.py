"""Settings without effect, or with another effect than they seem to have: a sentence each for the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field
from typing import Any

from rocketns.config import properties
from rocketns.config.properties import PREFIX, Effect
from rocketns.config.sections import OWN_NAMES
from rocketns.config.tls import TLS_PREFIX, TLS_PROPERTIES

# A name with one of these can only be meant for rocketns. Java keeps and shows any other name.
OWN_PREFIXES = (PREFIX, TLS_PREFIX, "journal")
# difflib's measure of likeness, 0 to 1: any other name may be the operator's own, so it must be very like one.
LIKE_ENOUGH, VERY_LIKE = 0.6, 0.85


def in_the_file(given: Mapping[str, str], java: Mapping[str, Field[Any]]) -> list[str]:
    """Warnings for properties of the configuration file. ``java``: the properties that Java has too."""
    known = _names(java)
    found: list[str] = []
    for name, text in given.items():
        if name in java:
            found += _misread(name, text, java[name])
        elif name not in known:
            found += _unknown(name, known)
    return found


def in_the_system_properties(system: Mapping[str, str], java: Mapping[str, Field[Any]]) -> list[str]:
    """Warnings for -D, JAVA_OPT and JAVA_OPT_EXT. An unknown name there may be one of Java's virtual machine."""
    known = _names(java)
    tls = {one.name for one in TLS_PROPERTIES}
    found: list[str] = []
    for name in system:
        if name in known - tls:
            found.append(f"-D{name} has no effect: set {name} in the file that -c names")
        elif name not in known and name.startswith(OWN_PREFIXES):
            found += (f"-D{sentence}" for sentence in _unknown(name, known))
    return found


def unused(given: Mapping[str, str], java: Mapping[str, Field[Any]]) -> dict[str, str]:
    """The properties of the file that rocketns accepts and does not use, with their meaning."""
    return {
        name: declaration.metadata["doc"]
        for name, declaration in java.items()
        if name in given and declaration.metadata["effect"] is Effect.UNUSED
    }


def _names(java: Mapping[str, Field[Any]]) -> set[str]:
    return {*java, *OWN_NAMES, *(one.name for one in TLS_PROPERTIES)}


def _misread(name: str, text: str, declaration: Field[Any]) -> Iterator[str]:
    """Java ignores such a text silently."""
    if declaration.type == "bool" and not properties.is_boolean(text):
        yield f"{name}={text} counts as false: it is neither true nor false"
    elif properties.parse(declaration, text) is None:
        default = properties.show(declaration.default)
        yield f"{name}={text} has no effect: it is not {properties.expected(declaration)}. {default} is used"


def _unknown(name: str, known: set[str]) -> Iterator[str]:
    from difflib import get_close_matches  # a configuration without mistakes starts without it

    meant = _same_but_for_case_or_prefix(name, known)
    if meant:
        yield f"{name} has no effect: the property is called {meant}"
        return
    is_own = name.startswith(OWN_PREFIXES)
    near = get_close_matches(name, sorted(known), 1, LIKE_ENOUGH if is_own else VERY_LIKE)
    if is_own or near:
        nearest = f". The nearest name is {near[0]}" if near else ""
        yield f"{name} has no effect: rocketns has no such property{nearest}"


def _same_but_for_case_or_prefix(name: str, known: set[str]) -> str | None:
    by_bare_name = {one.removeprefix(PREFIX).lower(): one for one in known}
    return by_bare_name.get(name.lower().removeprefix(PREFIX))
