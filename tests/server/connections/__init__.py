"""Connections before their first frame, and with any bytes."""
