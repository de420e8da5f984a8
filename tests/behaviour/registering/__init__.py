"""What brokers do: register, send versions and heartbeats, unregister, close their connection."""
