"""One fault of each kind that the sanitizers and the thread assertions are there to find, to see that they do."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from rocketns._fast.reactor.reactors cimport Reactors
from rocketns._fast.reactor.turns cimport resume_stalled

cdef extern from "<unistd.h>" nogil:
    int usleep(unsigned int microseconds)

cdef int64_t shared = 0


def overrun(size_t size):
    """Reads the byte behind ``size`` of them."""
    cdef char *data = <char *>malloc(size)
    cdef int byte = data[size]
    free(data)
    return byte


def undefined(int32_t number):
    """Adds 1 to what may be the largest number."""
    return <int32_t>(number + <int32_t>1)


def leak(size_t size):
    """Forgets memory that holds one byte."""
    cdef char *data = <char *>malloc(size)
    data[0] = 1
    return data[0]


def race(int rounds):
    """For two threads at once: each counts in the same word without a lock."""
    global shared
    with nogil:
        for _ in range(rounds):
            shared += 1
            usleep(100)


def work_of_a_reactor(Reactors reactors not None):
    """Does on this thread what only the first reactor's thread may do."""
    resume_stalled(reactors.shared.reactors[0])
