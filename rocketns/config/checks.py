"""What of the given properties is refused, and what has no effect, or another one than it seems to have.

Request 318 has limits of its own: any peer can send it, so it must not decide how, or whether, the server starts again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import Field
from typing import Any

from rocketns.config import properties
from rocketns.config.properties import PREFIX, Effect
from rocketns.config.sections import OWN_NAMES
from rocketns.config.tls import TLS_PREFIX, TLS_PROPERTIES, misread
from rocketns.errors import NoPermission, RequestError
from rocketns.javatext import trim

# A system property with one of these can only be meant for rocketns. Any other name may be one of Java's.
OWN_PREFIXES = (PREFIX, TLS_PREFIX, "journal")
IN_MEMORY = "kvConfigPath is empty: KV items are kept in memory, and a restart loses them"
# All properties of 5.5.0 with their values are 2 KB. The parser's time grows with the square of a value that is
# continued over many lines.
TEXT_BYTES_MAX = 64 * 1024
# Java's own black list. It holds even if configBlackList is empty.
BLACK_LIST = ("configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome")
OPERATORS_PREFIXES = (PREFIX, "tls.")
# The tab is allowed, and so is U+0080 to U+009F: Java reads UTF-8 text as Latin-1, which gives such characters.
CONTROL_CHARACTER = re.compile("[\x00-\x08\x0a-\x1f\x7f]")


def in_the_file(settings: Mapping[str, str], java: Mapping[str, Field[Any]]) -> list[str]:
    """Warnings for properties of the configuration file. ``java``: the properties that Java has too."""
    names = _names(java)
    found: list[str] = []
    for name, text in settings.items():
        if name not in names:
            found.append(_unknown(name, names))
        elif name in java and java[name].type == "bool" and not properties.is_boolean(text):
            found.append(properties.not_boolean(name, text))
        elif name == "kvConfigPath" and not trim(text):
            found.append(IN_MEMORY)
    return found + misread(settings)


def in_the_system_properties(system: Mapping[str, str], java: Mapping[str, Field[Any]]) -> list[str]:
    """Warnings for -D, JAVA_OPT and JAVA_OPT_EXT. An unknown name there may be one of Java's virtual machine."""
    names = _names(java)
    tls = {one.name for one in TLS_PROPERTIES}
    found: list[str] = []
    for name in system:
        if name in names - tls:
            found.append(f"-D{name} has no effect: set {name} in the file that -c names")
        elif name not in names and name.startswith(OWN_PREFIXES):
            found.append(_unknown(name, names, "-D"))
    return found + misread(system)


def in_the_tls_file(settings: Mapping[str, str]) -> list[str]:
    """Warnings for the file that ``tls.config.file`` names."""
    names = {one.name for one in TLS_PROPERTIES}
    return [_unknown(name, names) for name in settings if name not in names] + misread(settings)


def unused(settings: Mapping[str, str], java: Mapping[str, Field[Any]]) -> dict[str, str]:
    """The properties of the file that rocketns accepts and does not use, with their meaning."""
    return {
        name: declaration.metadata["doc"]
        for name, declaration in java.items()
        if name in settings and declaration.metadata["effect"] is Effect.UNUSED
    }


def _names(java: Mapping[str, Field[Any]]) -> set[str]:
    return {*java, *OWN_NAMES, *(one.name for one in TLS_PROPERTIES)}


def _unknown(name: str, names: set[str], option: str = "") -> str:
    """Java keeps and shows such a property."""
    from difflib import get_close_matches  # a configuration without mistakes starts without it

    shown = repr(option + name)
    by_bare_name = {one.removeprefix(PREFIX).lower(): one for one in names}
    meant = by_bare_name.get(name.lower().removeprefix(PREFIX))
    if meant:
        return f"{shown} has no effect: the property is called {meant}"
    near = get_close_matches(name, sorted(names), 1)
    nearest = f". The nearest name is {near[0]}" if near else ""
    return f"{shown} has no effect: rocketns has no such property{nearest}"


def refuse_names(names: set[str], black_list: frozenset[str]) -> None:
    """NoPermission if only the operator may set one of them, in the file."""
    if names & (black_list | OWN_NAMES) or any(name.startswith(OPERATORS_PREFIXES) for name in names):
        raise NoPermission("Can not update config in black list.")


def refuse_control_characters(texts: Mapping[str, str]) -> None:
    """RequestError for a value that would be shown as several lines."""
    for name, text in texts.items():
        if CONTROL_CHARACTER.search(text):
            raise RequestError(f"Can not update config, the value of {name} has a control character.")


class Withheld:
    """The properties that request 318 changed and may not write to the file, with the texts that the file keeps."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def forget(self, names: set[str]) -> None:
        """The operator has set these in the file: write their values from now on."""
        for name in names:
            self.texts.pop(name, None)

    def sort_out(self, declared: Mapping[str, Field[Any]], before: Mapping[str, str], config: Any) -> None:
        """Decide, after an update of ``config``, which values the file may get. ``before`` has the texts before it."""
        for name, declaration in declared.items():
            value = getattr(config, declaration.name)
            text = properties.show(value)
            if text == self.texts.get(name, before.get(name)) or properties.may_store(declaration, value):
                self.texts.pop(name, None)
            elif name in before:
                self.texts.setdefault(name, before[name])
