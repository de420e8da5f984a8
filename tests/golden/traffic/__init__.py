"""Recorded traffic of real clients: what they asked, and what the Java name server answered."""
