"""Nothing of turns.pyx is for Python callers."""
