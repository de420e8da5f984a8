"""What of the given properties is refused, and what has no effect."""
