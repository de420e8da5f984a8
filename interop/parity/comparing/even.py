"""Compares two answers of servers on this machine: rocketns.shadow.comparing.even says what is not compared.

Also left out is the machine: folders and the port in 319. `state` looks whether the address of 304 is one of 106.
"""

from __future__ import annotations

import json
import time
from functools import lru_cache
from pathlib import Path

from interop.golden.compare import settle
from interop.harness.wire import frame
from rocketns.shadow.comparing.even import differing
from rocketns.shadow.comparing.frames import split


def compare(java: bytes, rocketns: bytes, homes: tuple[Path, Path], *, no_opaque: bool = False,
            exact: bool = False) -> dict[str, tuple[str, str]]:  # fmt: skip
    """Two whole answers: the parts that differ, each as Java and as rocketns has it."""
    if java == rocketns and not any(str(home).encode() in java for home in homes):
        return {}  # most answers; reading them as JSON is what takes long
    one, other = (settle(answer, home) for answer, home in zip((java, rocketns), homes, strict=True))
    return _differing(one, other, no_opaque, exact)


@lru_cache(maxsize=1)
def _differing(java: bytes, rocketns: bytes, no_opaque: bool, exact: bool) -> dict[str, tuple[str, str]]:
    """Kept for the next mode of rocketns, which mostly answers the same bytes."""
    return differing(java, rocketns, int(time.time() * 1000), no_opaque=no_opaque, exact=exact)


def file_text(content: bytes, home: Path) -> str:
    """A file's content without the machine in it: JSON with its members sorted, anything else as it is."""
    _, body, _ = split(settle(frame(b"", content), home))
    try:
        return json.dumps(json.loads(body), sort_keys=True, ensure_ascii=False)
    except ValueError:
        return body.decode("latin-1")
