"""How busy the reactors are, and how many are in use."""
