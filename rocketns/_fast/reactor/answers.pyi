"""Nothing of answers.pyx is for Python callers."""
