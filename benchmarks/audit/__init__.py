"""What ``rocketns audit`` costs as its journal grows, and what DuckDB takes for a part of the same work."""
