"""A rocketns that waits for its journal as long as that takes, for tests that kill it, or ask while it starts."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from interop.harness.servers import RocketnsServer

# By default an answer waits 0.3 s for its records, and a lookup 1 s for the routes of a start. A busy machine may need
# longer; then a kill loses the records, and the lookup is answered SYSTEM_ERROR.
PATIENT = """
import sys
from rocketns import first_routes
from rocketns.__main__ import main
from rocketns.journal.durable import written
first_routes.UNHEARD_S = written.WITHIN_S = 60.0
sys.exit(main())
"""


class PatientServer(RocketnsServer):
    """What it has answered is in its journal, also after a kill. Whoever connects during a start waits for its end."""

    @classmethod
    def program(cls, options: Sequence[str] = ()) -> list[str]:
        return [sys.executable, "-c", PATIENT, *super().program(options)[3:]]
