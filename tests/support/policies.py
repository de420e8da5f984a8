"""Policies of access control for tests."""

from __future__ import annotations

import re

CLASSES = ("lookup", "read", "scan", "config", "broker", "admin")
MODES = re.compile(r"^[ \t]*\[modes\]\n((?:[ \t]*\w+ *=.*\n?)*)", re.MULTILINE)


def whole(text: str) -> str:
    """The policy as a name server takes it: the modes at its end, with ``off`` for each class that it does not name."""
    modes = dict.fromkeys(CLASSES, '"off"') | {"takeover": '"observe"'}
    for found in MODES.finditer(text):
        modes |= re.findall(r"(\w+) *= *(.*)", found[1])
    lines = "".join(f"{name} = {mode}\n" for name, mode in modes.items())
    return f"{MODES.sub('', text).rstrip()}\n[modes]\n{lines}"
