"""What an answer says of its server's release and machine. It is not compared: a shadow runs beside Java's on other
paths and another port, and Java's may be of any release.

The release   The version number in each header; the address in the remark of code 17.
The machine   In the answer to 319 the address, port and folders, and rocketns' own properties.
"""

from __future__ import annotations

import re

from rocketns.protocol.codes import RequestCode
from rocketns.shadow.comparing.even import Parts

VERSION = re.compile(r'"version":(-?\d+)(?=[,}])')
FAQ = re.compile(r"See https?://[\w./-]+ for further details")
MACHINE = re.compile(r"^(bindAddress|configStorePath|kvConfigPath|listenPort|rocketmqHome)=.*$", re.M)
OWN = re.compile(r"^(?:rocketns\.|journal)\w[\w.]*=.*\n?", re.M)


def leave_out_release(sides: list[Parts]) -> None:
    """Of both headers."""
    for parts in sides:
        parts["header"] = FAQ.sub("See URL for further details", VERSION.sub('"version":ANY', parts["header"]))


def leave_out_machine(code: int, sides: list[Parts]) -> None:
    """Of both bodies."""
    if code == RequestCode.GET_NAMESRV_CONFIG:
        for parts in sides:
            parts["body"] = OWN.sub("", MACHINE.sub(r"\1=ANY", parts["body"]))


def version_of(header: str) -> int | None:
    """The number of the server's release; None if the header has none."""
    found = VERSION.search(header)
    return int(found[1]) if found is not None and len(found[1]) < 10 else None
