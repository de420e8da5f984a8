"""Checks of the topics that were asked for: missing, misspelt, not writable."""
