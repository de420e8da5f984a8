"""Whose bytes go where, with servers that a test plays byte by byte."""
