"""What Python callers see of allocation.pyx."""

def give_back_large_blocks() -> None:
    """Return freed blocks of 4 MiB and more to the system at once.

    This fixes two thresholds of glibc. By default it raises them to the size that was freed last: then frames of 16 MiB
    come from its heaps and leave holes there.
    """
