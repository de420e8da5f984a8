"""A server and its peers at once: what must hold while everything changes."""
