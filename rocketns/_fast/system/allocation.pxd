"""Nothing of allocation.pyx is for compiled callers."""
