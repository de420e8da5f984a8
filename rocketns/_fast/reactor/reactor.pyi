"""Nothing of reactor.pyx is for Python callers."""
