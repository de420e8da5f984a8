"""What a request changes of brokers: which of them it is about, and takeovers."""
