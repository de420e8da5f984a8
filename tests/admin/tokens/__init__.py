"""Bearer tokens and TLS of the management port."""
