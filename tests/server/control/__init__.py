"""Control's turns, and log lines about slow ones."""
