"""How often tests of the audit draw at random. `ROCKETNS_DRAWS=50` in the environment draws 50 times instead of once,
with the seeds that follow; `ROCKETNS_SEED=7` begins with another seed. The name of a failed test has its seed.
"""

from __future__ import annotations

import os


def seeds(first: int) -> range:
    """The seeds of a test, ``first`` alone by default."""
    begin = int(os.environ.get("ROCKETNS_SEED", first))
    return range(begin, begin + int(os.environ.get("ROCKETNS_DRAWS", "1")))
