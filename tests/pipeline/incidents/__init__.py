"""The one list of what went wrong."""
