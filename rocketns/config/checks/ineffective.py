"""Settings without effect, or with another effect than they seem to have: a sentence each for the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field
from typing import Any

from rocketns.config import properties
from rocketns.config.properties import PREFIX, Effect
from rocketns.config.sections import OWN_NAMES
from rocketns.config.tls import TLS_PREFIX, TLS_PROPERTIES, misread
from rocketns.javatext import trim

# A system property with one of these can only be meant for rocketns. Any other name may be one of Java's.
OWN_PREFIXES = (PREFIX, TLS_PREFIX, "journal")
IN_MEMORY = "kvConfigPath is empty: KV items are kept in memory, and a restart loses them"


def in_the_file(given: Mapping[str, str], java: Mapping[str, Field[Any]]) -> list[str]:
    """Warnings for properties of the configuration file. ``java``: the properties that Java has too."""
    known = _names(java)
    found: list[str] = []
    for name, text in given.items():
        if name not in known:
            found.append(_unknown(name, known))
        elif name in java and java[name].type == "bool" and not properties.is_boolean(text):
            found.append(properties.not_boolean(name, text))
        elif name == "kvConfigPath" and not trim(text):
            found.append(IN_MEMORY)
    return found + misread(given)


def in_the_system_properties(system: Mapping[str, str], java: Mapping[str, Field[Any]]) -> list[str]:
    """Warnings for -D, JAVA_OPT and JAVA_OPT_EXT. An unknown name there may be one of Java's virtual machine."""
    known = _names(java)
    tls = {one.name for one in TLS_PROPERTIES}
    found: list[str] = []
    for name in system:
        if name in known - tls:
            found.append(f"-D{name} has no effect: set {name} in the file that -c names")
        elif name not in known and name.startswith(OWN_PREFIXES):
            found.append(_unknown(name, known, "-D"))
    return found + misread(system)


def in_the_tls_file(given: Mapping[str, str]) -> list[str]:
    """Warnings for the file that ``tls.config.file`` names."""
    known = {one.name for one in TLS_PROPERTIES}
    return [_unknown(name, known) for name in given if name not in known] + misread(given)


def unused(given: Mapping[str, str], java: Mapping[str, Field[Any]]) -> dict[str, str]:
    """The properties of the file that rocketns accepts and does not use, with their meaning."""
    return {
        name: declaration.metadata["doc"]
        for name, declaration in java.items()
        if name in given and declaration.metadata["effect"] is Effect.UNUSED
    }


def _names(java: Mapping[str, Field[Any]]) -> set[str]:
    return {*java, *OWN_NAMES, *(one.name for one in TLS_PROPERTIES)}


def _unknown(name: str, known: set[str], option: str = "") -> str:
    """Java keeps and shows such a property."""
    from difflib import get_close_matches  # a configuration without mistakes starts without it

    shown = repr(option + name)
    meant = _same_but_for_case_or_prefix(name, known)
    if meant:
        return f"{shown} has no effect: the property is called {meant}"
    near = get_close_matches(name, sorted(known), 1)
    nearest = f". The nearest name is {near[0]}" if near else ""
    return f"{shown} has no effect: rocketns has no such property{nearest}"


def _same_but_for_case_or_prefix(name: str, known: set[str]) -> str | None:
    by_bare_name = {one.removeprefix(PREFIX).lower(): one for one in known}
    return by_bare_name.get(name.lower().removeprefix(PREFIX))
