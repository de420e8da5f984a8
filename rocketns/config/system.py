"""Java's system properties: from JAVA_OPT and JAVA_OPT_EXT as RocketMQ's launcher reads them, and from -D options."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Mapping
from typing import NamedTuple

from rocketns.config.limits import FRAME_BYTES_MAX, FRAME_BYTES_MIN, FRAME_MAX_LENGTH

IPV4_ONLY = "java.net.preferIPv4Stack"
# runserver.sh: "$JAVA" ${JAVA_OPT} with JAVA_OPT_EXT at its end; the last of two equal names wins
LAUNCHER_VARIABLES = ("JAVA_OPT", "JAVA_OPT_EXT")


class SystemProperty(NamedTuple):
    """A property that is read from -D, for the help and docs/properties.md."""

    name: str
    default: str
    doc: str


SYSTEM_PROPERTIES = (
    SystemProperty(
        FRAME_MAX_LENGTH, str(FRAME_BYTES_MAX), f"bytes of the largest frame, at least {FRAME_BYTES_MIN}; a larger one "
        "closes its connection",
    ),
    SystemProperty("rocketmq.serialize.type", "JSON", "encoding of the headers of answers: JSON or ROCKETMQ"),
    SystemProperty(
        "rocketmq.namesrv.addr", "NAMESRV_ADDR of the environment", "name servers that the cluster-test mode asks"
    ),
    SystemProperty("rocketmq.home.dir", "ROCKETMQ_HOME of the environment", "shown as rocketmqHome, not needed"),
    SystemProperty(
        IPV4_ONLY, "false", "true: bindAddress=0.0.0.0 means every IPv4 address; false: and every IPv6 one"
    ),
    SystemProperty("user.home", "home of the user", "folder of the default paths and of the log files"),
)  # fmt: skip


def parse_definition(text: str) -> tuple[str, str]:
    """Name and value of an option ``-Dname=value``, without its ``-D``. For argparse."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ArgumentTypeError(f"-D{text}: name=value expected")
    return name, value


def system_properties(environment: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """Every ``-Dname=value`` of the launcher's variables, then those of the command line, which win."""
    found: dict[str, str] = {}
    for variable in LAUNCHER_VARIABLES:
        # The shell splits an unquoted variable at blanks. It keeps quotes and backslashes.
        words = environment.get(variable, "").split()
        pairs = (word[2:].partition("=") for word in words if word.startswith("-D"))
        found |= {name: value for name, _, value in pairs if name}
    return found | dict(options)
