"""The judge: what it counts, what it asks again, and its process."""
