"""Manual pages from the parsers and docs/, written by docutils."""
