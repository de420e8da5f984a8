"""A reactor's connections: buffers, hosts and what they hold, messages to and from control, lists of what waits."""
