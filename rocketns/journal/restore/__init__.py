"""The journal read back at the start: the files that a start needs, in one pass, and the routes at their end."""
