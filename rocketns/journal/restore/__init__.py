"""The journal read back at the start: files → records → routes."""
