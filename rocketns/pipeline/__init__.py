"""The audit: jobs on Spark data frames, from journal files to the tables of the report.

The rooms, in the order of their imports: ``contract`` | ``storage``, ``jobs``, ``incidents`` |
``report`` | ``batch``, ``stream``, ``explain`` | ``cli`` | ``submit``. Rooms between two bars do not import each other
(import-linter holds it: pyproject.toml).
The name server imports nothing of this package. The package imports only the journal's record contract, its plain
reader and the base class of errors from the rest of rocketns.
"""
