"""Counts of the shadow, and what people read of them."""
