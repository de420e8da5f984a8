"""The build. What the client library says of the process and of Python is added by `exposition`."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from rocketns import __version__
from rocketns.admin.metrics.family import Family, Sample, gauge
from rocketns.admin.metrics.scene import Scene


def _build(_: Scene) -> Iterator[Sample]:
    yield (__version__, platform.python_version(), platform.machine()), 1


FAMILIES: tuple[Family, ...] = (
    gauge("rocketns_build_info", "Always 1. The labels say what was built.", _build,
          {"version": "of rocketns", "python": "of Python", "machine": "the kind of processor"}),
)  # fmt: skip
