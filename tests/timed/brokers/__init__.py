"""Effects of time on brokers: expiry, many at once, doubt, returning, late ends of connections."""
