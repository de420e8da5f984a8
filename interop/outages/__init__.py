"""What brokers and clients notice while a name server is away, stands still or is replaced."""
