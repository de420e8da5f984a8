"""Nothing of places.pyx is for Python callers."""
