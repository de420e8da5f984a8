"""Frames that wait for control: their order, bounds and owners."""
