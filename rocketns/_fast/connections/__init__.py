"""A reactor's connections: buffers, what a connection holds, the messages to and from control."""
