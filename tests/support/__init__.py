"""Helpers that only the tests of rocketns need."""
