"""How brokers come and register."""
