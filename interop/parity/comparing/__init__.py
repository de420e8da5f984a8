"""Plays scenarios on both servers, and compares what they answer."""
