"""Recordings: secrets and names that are not in them, and files that nobody should trust."""
