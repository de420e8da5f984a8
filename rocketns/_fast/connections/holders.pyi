"""Nothing of holders.pyx is for Python callers."""
