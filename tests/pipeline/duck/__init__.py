"""The audit's state, windows, segments and incidents once more, in SQL for DuckDB: the tests of the jobs compare them
with Spark's, and the simulation compares them with what happened."""
