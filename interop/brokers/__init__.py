"""How brokers come, register and leave."""
