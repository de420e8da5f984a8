"""Invariant (h): the audit over the journals of a seed finds what happened in it, and nothing else.

`truth` writes down what happens, from processes and route tables, never from a journal. When the seed is over, `ending`
stops every name server, and its disks are written to a real folder (`files`). `found` asks the audit: the twins of its
jobs in DuckDB, which another test compares with Spark, and the list of incidents itself. `expected` computes the same
from what was written down, `departed` from the faults of the plan, and `compare` names every difference.

Wall clocks are not moved in these runs: the audit corrects each name server's clock by one offset.
"""
