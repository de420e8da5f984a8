"""What is recorded: of each event, in snapshots, of lookups; and that its replay gives the tables."""
