"""Each job once more, written independently in SQL for DuckDB, and the clocks by the plain reader: see twins.TWINS."""
