"""What the shadow counts and keeps, how the judge tells it to the relay, and what people read of it."""
