"""The image without any right, and what it is made of."""
