"""What is measured: one module a part, each with a ``PART``."""
