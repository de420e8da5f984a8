"""Messages between brokers and clients of every kind that know nothing but the name server."""
