"""The reactor transport: the reactors' connections as control sees them, and which reactors carry them."""
