"""The reactors' connections as control sees them, and which reactors carry them."""
