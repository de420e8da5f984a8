"""What Python callers see of allocation.pyx."""

def give_back_large_blocks() -> None:
    """Blocks of 4 MiB and more go back to the system when they are freed.

    Both thresholds are fixed: by default glibc raises them to what was freed last, takes frames of 16 MiB from its
    heaps from then on, and leaves holes there.
    """
