"""Checks of the consumer groups that were asked for."""
