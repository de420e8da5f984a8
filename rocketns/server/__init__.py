"""Sockets and time: the transports, the requests that wait, control, and the consumers of events."""
