"""Synthetic fleets, and what is true of them."""
