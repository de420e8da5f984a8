"""Java's system properties: from JAVA_OPT and JAVA_OPT_EXT as RocketMQ's launcher takes them, and from -D options."""

from __future__ import annotations

from collections.abc import Mapping

# runserver.sh: "$JAVA" ${JAVA_OPT} with JAVA_OPT_EXT at its end; the last of two equal names wins
LAUNCHER_VARIABLES = ("JAVA_OPT", "JAVA_OPT_EXT")


def system_properties(environment: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """All ``-Dname=value`` of the launcher's variables, then those of the command line, which win."""
    found: dict[str, str] = {}
    for variable in LAUNCHER_VARIABLES:
        found |= _definitions(environment.get(variable, ""))
    return found | dict(options)


def _definitions(text: str) -> dict[str, str]:
    """The shell splits an unquoted variable at blanks, and leaves quotes and backslashes in it alone."""
    pairs = (word[2:].partition("=") for word in text.split() if word.startswith("-D"))
    return {name: value for name, _, value in pairs if name}
