"""Style and structure as tests: what imports what, how long a file may grow, which behaviour row has a test."""
