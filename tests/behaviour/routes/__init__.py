"""What clients and tools read and change: routes, topics, permissions, clusters."""
