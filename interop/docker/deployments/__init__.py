"""Several containers together, with brokers and clients in them or beside them."""
