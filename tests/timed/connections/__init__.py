"""Effects of time on connections: before their first frame, and without a byte."""
