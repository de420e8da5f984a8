"""What Python callers see of process.pyx."""

def release_large_blocks() -> None:
    """Return freed blocks of 4 MiB and more to the system at once.

    This fixes two thresholds of glibc. By default it raises them to the size that was freed last: then frames of 16 MiB
    come from its heaps and leave holes there.
    """

def release_free_memory() -> None:
    """If more than 32 MiB of the main heap are free, give their whole pages back. One small block that is in use keeps
    everything below it from going back by itself."""

def keep_secrets_out_of_core_dumps() -> None:
    """Write no core of this process from now on, until its end. Call it before the first secret is read. Any thread.

    Two settings: RLIMIT_CORE is 0, and the process is not dumpable (``prctl`` PR_SET_DUMPABLE). The second also keeps
    other processes of the same user from reading its memory (ptrace, ``/proc/PID/mem``, ``environ``); root still may.
    gdb, py-spy and ``strace -p`` then need root. SIGQUIT, and what a scrape reads in ``/proc/self``, stay as they are.
    OSError where the kernel or a filter of system calls refuses.
    """
