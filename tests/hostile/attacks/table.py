"""All rows, in the order of the page, and the servers, which are its columns."""

from __future__ import annotations

from tests.hostile.attacks.attack import Row
from tests.hostile.attacks.rows import configuration, loads, routes, signatures

ROWS: tuple[Row, ...] = (*configuration.ROWS, *routes.ROWS, *signatures.ROWS, *loads.ROWS)
JAVA = "Java 5.5.0"
MODES = ("off", "observe", "enforce")
COLUMNS = (JAVA, *MODES)
