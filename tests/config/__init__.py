"""Tests of rocketns.config: properties, their defaults, their file, and what may change while the server runs."""
