"""Metrics in Prometheus' formats: what they are, where their numbers come from, and ``/metrics``."""
