"""Nothing of lookup_counts.pyx is for Python callers."""
