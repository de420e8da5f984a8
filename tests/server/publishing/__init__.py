"""What becomes of events: log lines, and errors while they are delivered."""
