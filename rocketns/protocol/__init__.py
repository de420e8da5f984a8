"""Bytes to values and back: frames, headers and bodies. No socket, no clock, no thread."""
