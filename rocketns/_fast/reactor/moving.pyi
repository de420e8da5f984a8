"""Nothing of moving.pyx is for Python callers."""
