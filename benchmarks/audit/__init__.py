"""The cost of ``rocketns audit`` for growing journals, and DuckDB's cost for a part of the same work."""
