"""What Python callers see of allocation.pyx."""

def give_back_large_blocks() -> None:
    """Return freed blocks of 4 MiB and more to the system at once.

    This fixes two thresholds of glibc. By default it raises them to the size that was freed last: then frames of 16 MiB
    come from its heaps and leave holes there.
    """

def give_back_free_memory() -> None:
    """If more than 32 MiB of the main heap are free, give their whole pages back. One small block that is in use keeps
    everything below it from going back by itself."""
