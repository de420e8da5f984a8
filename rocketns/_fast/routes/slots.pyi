"""What Python callers see of slots.pyx."""

HANDED_OVER: int
