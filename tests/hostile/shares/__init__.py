"""Peers that take more than their share: of bytes, connections, and control's time."""
