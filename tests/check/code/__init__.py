"""Style and structure of the sources: tidiness, linters, events that every consumer handles, who sets an attribute."""
