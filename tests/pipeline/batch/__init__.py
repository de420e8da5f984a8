"""Whole runs: their results, a second night, a live fleet, a cluster, and each job beside its twin in SQL."""
