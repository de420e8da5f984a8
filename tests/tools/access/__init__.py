"""Tests of `rocketns access`."""
