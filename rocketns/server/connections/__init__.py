"""Connections that the server opens, what they hold, and who is a stranger."""
