"""What an answer says of its server's release and machine. It is not compared: a shadow runs beside Java's on other
paths and another port, and Java's may be of any release.

The release   The version number in each header; the address in the remark of code 17; for Java before 5.0 a member
              that it does not have.
The machine   In the answer to 319 the address, port, folders and passwords, and rocketns' own properties.
"""

from __future__ import annotations

import re
import struct

from rocketns.protocol.codes import V5_0_0, RequestCode, SerializeType
from rocketns.shadow.comparing.even import Parts
from rocketns.shadow.comparing.frames import split

VERSION = re.compile(r'"version":(-?\d+)(?=[,}])')
FAQ = re.compile(r"See https?://[\w./-]+ for further details")
# rocketns shows no passwords.
MACHINE = re.compile(
    r"^(bindAddress|configStorePath|kvConfigPath|listenPort|rocketmqHome|(?i:[^=\n]*password[^=\n]*))=.*\n?", re.M
)
LAST_VERSION = re.compile(rb'"version":(\d{1,5})\}$')
NO_ACTING_MASTER = b',"enableActingMaster":false'
HEAD = struct.Struct(">iI")
OWN = re.compile(r"^(?:rocketns\.|journal)\w[\w.]*=.*\n?", re.M)


def leave_out_release(sides: list[Parts]) -> None:
    """Of both headers."""
    for parts in sides:
        parts["header"] = FAQ.sub("See URL for further details", VERSION.sub('"version":ANY', parts["header"]))


def leave_out_machine(code: int, sides: list[Parts]) -> None:
    """Of both bodies."""
    if code == RequestCode.GET_NAMESRV_CONFIG:
        for parts in sides:
            parts["body"] = OWN.sub("", MACHINE.sub("", parts["body"]))


def as_before_5_0(upstream: bytes, own: bytes) -> bytes:
    """rocketns' answer as Java's release of the upstream would write it: before 5.0 brokers have no acting masters.

    A member is found by its bytes: in a text its quotes would have backslashes.
    """
    version = version_of(upstream)
    if version is None or version >= V5_0_0 or NO_ACTING_MASTER not in own:
        return own
    header, body, kind = split(own)
    body = body.replace(NO_ACTING_MASTER, b"")
    return HEAD.pack(4 + len(header) + len(body), kind << 24 | len(header)) + header + body


def version_of(answer: bytes) -> int | None:
    """The number of the server's release; None if the answer has none."""
    header = answer[8 : 8 + int.from_bytes(answer[5:8], "big")]
    if answer[4:5] == bytes([SerializeType.ROCKETMQ]):
        return int.from_bytes(header[3:5], "big")
    found = LAST_VERSION.search(header)
    return None if found is None else int(found[1])
