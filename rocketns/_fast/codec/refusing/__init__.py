"""What a reactor reads of a request that it refuses, and the answer to it."""
