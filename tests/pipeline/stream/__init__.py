"""Alerts while problems last."""
