"""The parts of an answer that are not compared: file locations, the port, Java's hash order, exception texts.

Everything else is compared: after these parts are normalised, two answers must have the same bytes.
"""

from __future__ import annotations

import re
from pathlib import Path

from interop.golden.steps import Step
from interop.harness.wire import frame
from rocketns.shadow.comparing.frames import split
from rocketns.shadow.comparing.tokens import parse, sort_at, write

REMARK = re.compile(r'"remark":"(?:[^"\\]|\\.)+"')


def settle(answer: bytes, home: Path) -> bytes:
    """The answer as if the server's home folder were HOME and its port PORT (GET_NAMESRV_CONFIG shows both)."""
    header, body, kind = split(answer)
    body = body.replace(str(home).encode(), b"HOME")
    body = re.sub(rb"(?m)^listenPort=[1-9]\d*$", b"listenPort=PORT", body)
    return frame(header, body, kind)


def comparable(step: Step, answer: bytes) -> dict[str, str]:
    """The parts of an answer, normalised where the step allows differences, as text with one character a byte."""
    header, body, _ = split(answer)
    parts = {"frame": answer[:8].hex(), "header": header.decode("latin-1"), "body": body.decode("latin-1")}
    for path in step.unordered:
        part, *names = path.split(".")
        parts[part] = write(sort_at(parse(parts[part]), names))
    if step.free_remark:
        # Its length shows in both length fields, so they are free as well; split() has checked that they add up.
        parts["frame"] = "any lengths"
        parts["header"] = REMARK.sub('"remark":"any text"', parts["header"])
    return parts
