"""What the management port and the thread dump may know of the server."""
