"""A server and many kinds of peers at once: what must always hold."""
