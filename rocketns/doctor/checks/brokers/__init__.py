"""Checks of what only brokers know: their addresses, configuration, consumer groups."""
