"""Control: the one thread that owns the tables. Its turns, its answers, and the brokers that it unregisters."""
