"""Totals of bytes over all connections: who is closed when one is exceeded, and who is closed at any fill."""
