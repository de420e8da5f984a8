"""Tests of the readers of a policy's files."""
