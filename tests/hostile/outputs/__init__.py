"""What one byte from a stranger becomes in each output of the server: the factors of docs/limits.md, measured."""
