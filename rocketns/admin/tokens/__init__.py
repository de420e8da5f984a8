"""Bearer tokens of the management port: their file, the class of each path, and who is refused."""
