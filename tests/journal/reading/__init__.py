"""The plain reader of journals: the clock of each day."""
