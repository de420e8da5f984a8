"""Connections that the name server opens itself."""
