"""The consumers of events: the reactors' routes, the log, the journal, notified brokers."""
