"""What the name server sends to brokers by itself: which is now the lowest id of their group."""
