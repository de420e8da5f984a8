"""Each job once more, written independently in SQL for DuckDB. ``twins.TWINS`` has the SQL of each table."""
