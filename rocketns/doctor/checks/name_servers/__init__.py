"""Checks of the name servers themselves: reachable, what they are, whether they agree."""
