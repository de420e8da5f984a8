"""Planted faults of the product, each of which must make a test fail."""
