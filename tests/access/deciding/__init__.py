"""Tests of the decision, without a server."""
