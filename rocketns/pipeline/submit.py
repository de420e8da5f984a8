"""The file for spark-submit: ``spark-submit --master … submit.py run --journal … --out …``.

The arguments after it are those of ``rocketns audit``. spark-submit sets master and memory and starts Java. The Python
of the driver must have rocketns with the extra spark. Executors need Python of the driver's version with pandas
and pyarrow, and no part of this package: tasks bring its functions with them.
"""

from __future__ import annotations

import sys

from rocketns.pipeline.cli.audit import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
