"""The servers of a play: their setups, connections, listeners and certificates, and how their programs start."""
