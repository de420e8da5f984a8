"""What a peer puts into the route tables ends with its connection, its heartbeats, its broker or its topic."""
