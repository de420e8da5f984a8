"""The address server: who is listed, how that is found out, and what its HTTP port answers."""
