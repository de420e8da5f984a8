"""Nothing of connection.pyx is for Python callers."""
