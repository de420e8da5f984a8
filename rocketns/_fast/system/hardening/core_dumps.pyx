"""A process whose memory no core file and no debugger of its own user gets."""

from libc.errno cimport errno
from posix.resource cimport RLIMIT_CORE, rlimit, setrlimit

cdef extern from "<sys/prctl.h>" nogil:
    int prctl(int option, unsigned long value, unsigned long, unsigned long, unsigned long)
    const int PR_SET_DUMPABLE


def keep_secrets_out_of_core_dumps():
    cdef rlimit none
    none.rlim_cur = none.rlim_max = 0
    # Where the kernel pipes cores to a program it does so in spite of a limit of 0, so the limit alone is not enough.
    if setrlimit(RLIMIT_CORE, &none) != 0 or prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(errno, "core dumps cannot be turned off")
