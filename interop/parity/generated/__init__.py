"""Random scenarios, and how a failing one is made short."""
