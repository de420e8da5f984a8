"""How events are delivered: the log lines that they write, and errors on the way."""
