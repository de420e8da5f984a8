"""Whole runs: what they come to, a second night, a live fleet, a cluster, and each job beside its twin in SQL."""
