"""Bytes to values and back. No socket, clock or thread in here."""
