"""The benchmark of collecting."""
