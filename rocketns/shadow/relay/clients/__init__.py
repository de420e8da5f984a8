"""A client's end of a connection: how it begins, when it is read, and what goes out to it."""
