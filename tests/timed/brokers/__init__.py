"""What time does to brokers: expiry, many at once, doubt, returning, late ends of connections."""
