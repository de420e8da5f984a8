"""What differences do to the queues of consumers and producers."""
