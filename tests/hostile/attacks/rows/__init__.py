"""The rows, by what they attack."""
