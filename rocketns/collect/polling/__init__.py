"""Polls one name server: what is asked next, within a budget of requests, and what its answers change."""
