"""The requests that wait for control, and whose turn is next."""
