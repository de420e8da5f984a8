"""The routes of one moment."""
