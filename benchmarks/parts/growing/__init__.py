"""What costs more with more connections, topics or brokers."""
