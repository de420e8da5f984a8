"""The own half: what it takes from the upstream, and that nobody else notices it."""
