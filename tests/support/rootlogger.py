"""The root logger as it was before a test that starts logging."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def restored_root_logger() -> Iterator[None]:
    """Put its handlers, its level and Python's names of levels back at the end."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers = handlers
    root.setLevel(level)
    logging.addLevelName(logging.WARNING, "WARNING")
