"""The one file that spark-submit takes: ``spark-submit --master … submit.py run --journal … --out …``.

The words after it are those of ``rocketns audit``. The master and the memory are spark-submit's, so no Java runtime is
looked for here. The Python of the driver must have rocketns[spark].
Executors need nothing of this package: no job has a Python function that would run there.
"""

from __future__ import annotations

import sys

from rocketns.pipeline.cli.audit import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
