"""Java's system properties: from JAVA_OPT and JAVA_OPT_EXT as RocketMQ's launcher takes them, and from -D options."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

# runserver.sh: $JAVA ${JAVA_OPT} ${JAVA_OPT_EXT}; the last of two equal names wins
LAUNCHER_VARIABLES = ("JAVA_OPT", "JAVA_OPT_EXT")


def system_properties(environment: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """All ``-Dname=value`` of the launcher's variables, then those of the command line, which win."""
    found: dict[str, str] = {}
    for variable in LAUNCHER_VARIABLES:
        found |= _definitions(environment.get(variable, ""))
    return found | dict(options)


def _definitions(text: str) -> dict[str, str]:
    try:
        words = shlex.split(text)
    except ValueError:  # an unclosed quote: take the words as they stand
        words = text.split()
    pairs = (word[2:].partition("=") for word in words if word.startswith("-D"))
    return {name: value for name, _, value in pairs if name}
