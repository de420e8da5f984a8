"""Control's turns, and what the log says of slow ones."""
