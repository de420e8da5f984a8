"""What ``rocketns audit run`` takes as days and brokers grow, read from Spark's event log, and what follows for a
billion events."""
