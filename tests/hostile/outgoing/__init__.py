"""Connections that the server opens: what their other ends may not achieve."""
