"""Two readers of the route slots that see whether anything changes while one of them holds its mutex.

Control takes the mutexes of all readers in their order. This thread always holds one of the two and passes control from
the first to the second, so control can take no step unseen, and each step begins while the first mutex is held here.
"""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

cimport cython

from rocketns._fast.codec.requests cimport RouteRequest, recognise_request
from rocketns._fast.routes.routes cimport RouteSlots
from rocketns._fast.routes.slots cimport Answer, Routes, write_answer
from rocketns._fast.system.threads cimport load, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock, store

cdef extern from "<pthread.h>" nogil:
    int pthread_mutex_trylock(pthread_mutex_t *mutex)

cdef enum:
    ROOM = 16384
    LOOKS = 30  # while the first mutex is held: some microseconds, in which control gets to its next step

cdef struct Look:
    Routes routes
    Answer answer
    uint8_t bytes[ROOM]


# The garbage collector may not take the slots away before __dealloc__ has used them.
@cython.no_gc_clear
cdef class Watcher:
    """Asks for the route of one topic all the time, on a thread of its own, until `stop` is called."""

    cdef RouteSlots slots
    cdef pthread_mutex_t first
    cdef pthread_mutex_t second
    cdef Look before
    cdef Look now
    cdef int64_t is_over
    cdef int64_t has_begun
    cdef int64_t steps

    def __cinit__(self, RouteSlots slots not None):
        self.slots = slots
        slots.add_reader(&self.first)
        slots.add_reader(&self.second)

    def __dealloc__(self):
        """No other reader of the slots may be in use any more."""
        self.slots.reader_count = 0

    cdef void look(self, const RouteRequest *request, Look *seen) noexcept nogil:
        cdef int view = 1 if self.slots.routes.views else 0
        seen.routes = self.slots.routes
        write_answer(&self.slots.routes, request, view, 0, 513, seen.bytes, ROOM, &seen.answer)

    cdef bint has_changed(self, const RouteRequest *request) noexcept nogil:
        """Since `before`."""
        self.look(request, &self.now)
        if memcmp(&self.before.routes, &self.now.routes, sizeof(Routes)) != 0:
            return True
        if self.before.answer.size != self.now.answer.size:
            return True
        return self.now.answer.size > 0 and memcmp(self.before.bytes, self.now.bytes, self.now.answer.size) != 0

    cdef bint changes_while_second_is_held(self, const RouteRequest *request) noexcept nogil:
        """Until control has the first mutex and waits for the second."""
        self.look(request, &self.before)
        while pthread_mutex_trylock(&self.first) == 0:
            pthread_mutex_unlock(&self.first)
            if self.has_changed(request):
                return True
            if load(&self.is_over):
                return False
        return self.has_changed(request)

    cdef bint changes_while_first_is_held(self, const RouteRequest *request) noexcept nogil:
        self.look(request, &self.before)
        for _ in range(LOOKS):
            if self.has_changed(request):
                return True
        return False

    def watch(self, const unsigned char[::1] look_up):
        """Whether anything changed while a mutex was held; returns at once then, and else when it is to stop."""
        cdef RouteRequest request
        cdef bint changed = False
        if not recognise_request(&look_up[0], <size_t>look_up.shape[0], &request):
            raise ValueError("no lookup that reactors answer")
        with nogil:
            pthread_mutex_lock(&self.second)
            store(&self.has_begun, 1)
            while not changed and not load(&self.is_over):
                changed = self.changes_while_second_is_held(&request)
                pthread_mutex_unlock(&self.second)
                while pthread_mutex_trylock(&self.first) != 0:
                    pass  # as soon as control gives it back, before it takes it again
                changed = changed or self.changes_while_first_is_held(&request)
                pthread_mutex_lock(&self.second)
                pthread_mutex_unlock(&self.first)
                store(&self.steps, self.steps + 1)
            pthread_mutex_unlock(&self.second)
        return changed

    def stop(self):
        store(&self.is_over, 1)

    @property
    def is_watching(self):
        """Whether it holds a mutex by now."""
        return load(&self.has_begun) != 0

    @property
    def steps_taken(self):
        """How often control was let through."""
        return load(&self.steps)
