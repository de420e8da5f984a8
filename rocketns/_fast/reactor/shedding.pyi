"""Nothing of shedding.pyx is for Python callers."""
