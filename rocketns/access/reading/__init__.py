"""A policy from the texts of its files."""
