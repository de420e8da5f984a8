"""Checks of the broker groups that name servers show."""
