"""Gathers the facts, within a stated number of requests."""
