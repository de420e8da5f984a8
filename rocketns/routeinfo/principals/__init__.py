"""What the principals of an access policy may have in the route tables."""
