"""What a fleet's journals tell: jobs on Spark data frames, from the journal's files to the tables of the report.

A job is a pure function of data frames and literals. Only ``session``, ``ingest`` and the command line read, write or
hold a session. The name server imports nothing of this package, and the package nothing of the name server but the
journal's record contract.
"""
