"""Nothing of known_topics.pyx is for compiled callers."""
