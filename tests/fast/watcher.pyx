"""A reader of the route slots that looks whether anything changes while it holds its mutex, as no reactor may see it.
"""

cimport cython
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

from rocketns._fast.codec.route_request cimport RouteRequest, recognise_request
from rocketns._fast.routes.lookup cimport Answer, write_answer
from rocketns._fast.routes.routes cimport RouteSlots
from rocketns._fast.routes.slots cimport Routes
from rocketns._fast.system.atomics cimport load, store
from rocketns._fast.system.threads cimport (
    pthread_mutex_destroy,
    pthread_mutex_init,
    pthread_mutex_lock,
    pthread_mutex_t,
    pthread_mutex_unlock,
)

cdef extern from "<pthread.h>" nogil:
    int pthread_mutex_trylock(pthread_mutex_t *mutex)

cdef enum:
    ROOM = 16384
    LOOKS = 30  # while the mutex is held, some microseconds
    TRIES = 2000  # to see that the writer has the mutex, before it is taken again

cdef struct Look:
    Routes routes
    Answer answer
    uint8_t bytes[ROOM]


# The garbage collector may not take the slots away before __dealloc__ has used them.
@cython.no_gc_clear
cdef class Watcher:
    """Asks for the route of one topic all the time, on a thread of its own, until `stop` is called."""

    cdef RouteSlots slots
    cdef pthread_mutex_t mutex
    cdef Look first
    cdef Look next
    cdef int64_t is_over
    cdef int64_t held

    def __cinit__(self, RouteSlots slots not None):
        self.slots = slots
        pthread_mutex_init(&self.mutex, NULL)
        slots.add_reader(&self.mutex)

    def __dealloc__(self):
        """No other reader of the slots may be in use any more."""
        self.slots.reader_count = 0
        pthread_mutex_destroy(&self.mutex)

    cdef void look(self, const RouteRequest *request, Look *seen) noexcept nogil:
        seen.routes = self.slots.routes
        write_answer(&self.slots.routes, request, 0, seen.bytes, ROOM, &seen.answer)

    cdef bint has_changed(self) noexcept nogil:
        if memcmp(&self.first.routes, &self.next.routes, sizeof(Routes)) != 0:
            return True
        if self.first.answer.size != self.next.answer.size:
            return True
        return self.next.answer.size > 0 and memcmp(self.first.bytes, self.next.bytes, self.next.answer.size) != 0

    cdef void take_mutex(self) noexcept nogil:
        """As soon as the writer gives it back; it gets a while to take it."""
        for _ in range(TRIES):
            if pthread_mutex_trylock(&self.mutex) != 0:
                break
            pthread_mutex_unlock(&self.mutex)
        while pthread_mutex_trylock(&self.mutex) != 0:
            if load(&self.is_over):
                pthread_mutex_lock(&self.mutex)
                return

    cdef bint changes_while_held(self, const RouteRequest *request) noexcept nogil:
        cdef bint changed = False
        self.take_mutex()
        self.look(request, &self.first)
        for _ in range(LOOKS):
            self.look(request, &self.next)
            changed = changed or self.has_changed()
        pthread_mutex_unlock(&self.mutex)
        return changed

    def watch(self, const unsigned char[::1] look_up):
        """Whether anything changed while the mutex was held; returns at once then, and else when it is to stop."""
        cdef RouteRequest request
        cdef bint changed = False
        if not recognise_request(&look_up[0], <size_t>look_up.shape[0], &request):
            raise ValueError("no look-up that reactors answer")
        with nogil:
            while not changed and not load(&self.is_over):
                changed = self.changes_while_held(&request)
                store(&self.held, self.held + 1)
        return changed

    def stop(self):
        store(&self.is_over, 1)

    @property
    def times_held(self):
        return load(&self.held)
