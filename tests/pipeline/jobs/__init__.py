"""The jobs on a few rows each."""
