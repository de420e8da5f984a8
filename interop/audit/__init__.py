"""The audit beside real brokers and clients: what it says of the queues consumers had, and of what was watched."""
