"""The steps after a new `Kind` of message between reactors and control: what is missing, each with the next step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

KINDS = "rocketns/_fast/connections/messages.pxd"
REACTOR = "rocketns/_fast/reactor/reactor.pyx"
CONTROL = "rocketns/_fast/connections/delivery.pyx"
TO_CONTROL, TO_REACTOR = "# From a reactor to control.", "# To a reactor,"
KIND = re.compile(r"^    ([A-Z_]+) = \d+(.*)$", re.MULTILINE)


def missing_steps(root: Path) -> Iterator[str]:
    """One sentence for each step that was forgotten."""
    enum = (root / KINDS).read_text("utf-8").partition("Kind:\n")[2].partition("\n\n")[0]
    to_control, to_reactor = (KIND.findall(part) for part in enum.partition(TO_CONTROL)[2].split(TO_REACTOR))
    control, reactor = ((root / file).read_text("utf-8") for file in (CONTROL, REACTOR))
    for kind, words in (*to_control, *to_reactor):
        if "#" not in words and kind != "STOP":
            yield f"{KINDS} does not say what {kind} means. Next step: a comment behind it, with what comes with it"
    for kind, _ in to_control:
        if f"if kind == {kind}:" not in control:
            yield f"control does not get {kind}. Next step: give it to the receiver in deliver_one of {CONTROL}"
    for kind, _ in to_reactor:
        if f"message.kind == {kind}:" not in reactor:
            yield f"no reactor takes {kind}. Next step: handle it in handle_message of {REACTOR}"
