"""Sockets and time: connections, the queues in front of the processors, and the control that owns the tables."""
