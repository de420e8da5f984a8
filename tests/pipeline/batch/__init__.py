"""Whole runs: their results, a second night, and a cluster."""
