"""What Python callers see of delivery.pyx."""

class Frame:
    """The memory of a large frame, read-only. Python has a memoryview of it."""
