"""Views: which addresses of brokers a client gets, by its network or by the port at which it asks."""
