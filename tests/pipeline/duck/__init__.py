"""Each job once more, written independently in SQL for DuckDB: ``<job>.py`` beside ``rocketns/pipeline/<job>.py``."""
