"""What time does to connections: before their first frame, and without a byte."""
