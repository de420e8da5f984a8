"""What Python callers see of core_dumps.pyx."""

def keep_secrets_out_of_core_dumps() -> None:
    """Write no core of this process from now on, until its end. Call it before the first secret is read. Any thread.

    Two settings: RLIMIT_CORE is 0, and the process is not dumpable (``prctl`` PR_SET_DUMPABLE). The second also keeps
    other processes of the same user from reading its memory (ptrace, ``/proc/PID/mem``, ``environ``); root still may.
    gdb, py-spy and ``strace -p`` then need root. SIGQUIT, and what a scrape reads in ``/proc/self``, stay as they are.
    OSError where the kernel or a filter of system calls refuses.
    """
