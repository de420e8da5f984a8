"""Metrics in Prometheus' text format: what they are, where their numbers come from, and ``/metrics``."""
