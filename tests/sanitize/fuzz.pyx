"""Mutated frames through everything compiled that reads what the network sent, without Python in between.

Each frame lies in memory of its own, of just its size, so that a sanitizer sees the first byte read beside it; so does
each answer. `frames` is for threads beside one that changes the slots; `bodies` makes Python objects, and holds the GIL.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport abort, calloc, free, malloc
from libc.string cimport memcmp, memcpy, memmove

cimport cython

from rocketns._fast.access.policy cimport Digest, LookupKeys, digest_lookup
from rocketns._fast.codec.replies cimport HEAD_BYTES_MAX, put_uint32
from rocketns._fast.codec.requests cimport Layout, RouteRequest, follows_layout, learn_layout, recognise_request
from rocketns._fast.codec.wire cimport frame_size
from rocketns._fast.routes.routes cimport RouteSlots
from rocketns._fast.routes.slots cimport HANDED_OVER, Answer, Routes, write_answer
from rocketns._fast.system.threads cimport pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock

cdef enum:
    FRAME_BYTES_MAX = 1 << 20
    CHANGES_MAX = 6
    GROWTH_MAX = 32
    SAMPLES_MAX = 64
    ANSWER_BYTES_MAX = 1 << 16

cdef bytes BITS = b'"\\{}[]:,-019 \x00\x01\x1f\x7f\x80\xff\n'
cdef const uint8_t *bits = <const uint8_t *>BITS
cdef size_t bits_count = len(BITS)

cdef struct Piece:
    const uint8_t *start
    size_t size


cdef inline uint64_t chance(uint64_t *state) noexcept nogil:
    """splitmix64."""
    state[0] += <uint64_t>0x9E3779B97F4A7C15
    cdef uint64_t mixed = state[0]
    mixed = (mixed ^ (mixed >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    mixed = (mixed ^ (mixed >> 27)) * <uint64_t>0x94D049BB133111EB
    return mixed ^ (mixed >> 31)


cdef inline size_t below(uint64_t *state, size_t limit) noexcept nogil:
    return <size_t>(chance(state) % limit) if limit else 0


cdef size_t mutate(uint64_t *state, uint8_t *data, size_t size, const Piece *other) noexcept nogil:
    """Change bytes, and cut, repeat or splice; the size afterwards, at most GROWTH_MAX more for each change."""
    cdef size_t at, length, start
    cdef uint64_t kind
    cdef int each
    for each in range(<int>below(state, CHANGES_MAX)):
        kind = chance(state) % 8
        at = below(state, size)
        if kind == 0 and size:
            data[at] = <uint8_t>chance(state)
        elif kind == 1 and size:
            data[at] ^= <uint8_t>(1 << (chance(state) % 8))
        elif kind in (2, 3) and size:
            data[at] = bits[below(state, bits_count)]
        elif kind == 4:
            size = at
        elif kind == 5:
            length = min(below(state, GROWTH_MAX), size - at)
            memmove(data + at, data + at + length, size - at - length)
            size -= length
        elif kind == 6 and other.size:
            start = below(state, other.size)
            length = min(below(state, GROWTH_MAX), other.size - start)
            memmove(data + at + length, data + at, size - at)
            memcpy(data + at, other.start + start, length)
            size += length
        elif kind == 7 and size:
            length = min(below(state, GROWTH_MAX), size - at)
            memmove(data + at + length, data + at, size - at)
            size += length
    return size


cdef uint8_t *mutated(uint64_t *state, const Piece *pieces, size_t count, size_t *size) noexcept nogil:
    """In memory of just its size; NULL where there is none."""
    cdef const Piece *piece = &pieces[below(state, count)]
    cdef const Piece *other = &pieces[below(state, count)]
    cdef uint8_t *draft = <uint8_t *>malloc(piece.size + CHANGES_MAX * GROWTH_MAX)
    cdef uint8_t *exact
    if draft == NULL:
        return NULL
    memcpy(draft, piece.start, piece.size)
    size[0] = mutate(state, draft, piece.size, other)
    exact = <uint8_t *>malloc(size[0] if size[0] else 1)
    if exact != NULL:
        memcpy(exact, draft, size[0])
    free(draft)
    return exact


cdef class Corpus:
    """Byte strings to mutate, of which at least one is not empty."""

    cdef list kept
    cdef Piece *pieces
    cdef size_t count

    def __cinit__(self, texts):
        cdef bytes text
        self.kept = list(texts)
        self.count = len(self.kept)
        self.pieces = <Piece *>calloc(self.count, sizeof(Piece))
        if self.pieces == NULL:
            raise MemoryError
        for place, text in enumerate(self.kept):
            self.pieces[place].start, self.pieces[place].size = text, <size_t>len(text)

    def __dealloc__(self):
        free(self.pieces)


cdef struct Reader:
    pthread_mutex_t mutex
    uint64_t state
    int64_t whole
    int64_t recognised
    int64_t like
    int64_t answered
    int64_t handed_over
    Layout layout
    bint has_layout
    LookupKeys keys
    uint8_t space[ANSWER_BYTES_MAX]


cdef void answer(Reader *reader, const Routes *routes, const RouteRequest *request) noexcept nogil:
    """Write the answer into memory that is as large as it must be, or by chance smaller."""
    cdef Answer written
    cdef size_t room = ANSWER_BYTES_MAX
    cdef uint8_t *out
    cdef int view, serialize_type = <int>(chance(&reader.state) % 2), version = 513 + <int>(chance(&reader.state) % 3)
    pthread_mutex_lock(&reader.mutex)
    view = <int>below(&reader.state, routes.views + 1)
    write_answer(routes, request, view, serialize_type, version, reader.space, room, &written)
    if written.size > 0:
        room = max(<size_t>written.size, HEAD_BYTES_MAX + request.topic.length)
    if chance(&reader.state) % 4 == 0:
        room = below(&reader.state, room)
    out = <uint8_t *>malloc(room if room else 1)
    if out != NULL:
        write_answer(routes, request, view, serialize_type, version, out, room, &written)
        reader.answered += written.size > 0
        reader.handed_over += written.size == HANDED_OVER
        free(out)
    pthread_mutex_unlock(&reader.mutex)


cdef bint have_one_digest(const RouteRequest *one, const RouteRequest *other, const LookupKeys *keys) noexcept nogil:
    """Of a signed lookup that was recognised in two ways: an allowed one must not stand for another."""
    cdef Digest first, second
    cdef bint has_first = digest_lookup(one, keys, &first), has_second = digest_lookup(other, keys, &second)
    return has_first == has_second and (not has_first or memcmp(&first, &second, sizeof(Digest)) == 0)


cdef size_t read_frame(Reader *reader, const Routes *routes, uint8_t *data, size_t size) noexcept nogil:
    """One frame as a reactor reads it. How long it was, if it was recognised, or 0."""
    cdef RouteRequest request, like
    cdef int64_t length
    cdef bint is_like
    if size >= 4 and chance(&reader.state) % 16:
        put_uint32(data, <uint32_t>(size - 4))
    length = frame_size(data, size, FRAME_BYTES_MAX)
    if length <= 0:
        return 0
    reader.whole += 1
    is_like = reader.has_layout and follows_layout(data, <size_t>length, &reader.layout, &like)
    if is_like:
        reader.like += 1
        answer(reader, routes, &like)
    if not recognise_request(data, <size_t>length, &request):
        return 0
    reader.recognised += 1
    answer(reader, routes, &request)
    if is_like and not have_one_digest(&like, &request, &reader.keys):
        abort()
    if chance(&reader.state) % 8 == 0:
        reader.has_layout = learn_layout(data, <size_t>length, &request, &reader.layout)
    return <size_t>length


# The garbage collector may not take the slots away before __dealloc__ has used them.
@cython.no_gc_clear
cdef class Frames:
    """A reader of the slots, as a reactor is one, that gets mutated frames. Each is for one thread."""

    cdef Reader reader
    cdef RouteSlots slots
    cdef Corpus corpus
    cdef uint8_t *samples[SAMPLES_MAX]
    cdef size_t sample_sizes[SAMPLES_MAX]
    cdef int sample_count

    def __cinit__(self, RouteSlots slots not None, Corpus corpus not None, uint64_t seed):
        self.slots, self.corpus, self.reader.state = slots, corpus, seed
        slots.add_reader(&self.reader.mutex)

    def __dealloc__(self):
        """No other reader of the slots may be in use any more."""
        self.slots.reader_count = 0
        for place in range(self.sample_count):
            free(self.samples[place])

    cdef bint keep(self, uint8_t *data, size_t size) noexcept nogil:
        if self.sample_count == SAMPLES_MAX:
            return False
        self.samples[self.sample_count], self.sample_sizes[self.sample_count] = data, size
        self.sample_count += 1
        return True

    def run(self, int64_t count):
        """So many frames, without the GIL."""
        cdef size_t size = 0, length
        cdef uint8_t *data
        cdef Reader *reader = &self.reader
        with nogil:
            for _ in range(count):
                data = mutated(&reader.state, self.corpus.pieces, self.corpus.count, &size)
                if data == NULL:
                    continue
                length = read_frame(reader, &self.slots.routes, data, size)
                if length and chance(&reader.state) % 1024 == 0 and self.keep(data, length):
                    continue
                free(data)

    def counts(self):
        """How many were whole frames, recognised, recognised by likeness, answered, and handed over."""
        cdef Reader *reader = &self.reader
        return reader.whole, reader.recognised, reader.like, reader.answered, reader.handed_over

    def samples_taken(self):
        """Some of the frames that were recognised."""
        return [
            PyBytes_FromStringAndSize(<char *>self.samples[place], <Py_ssize_t>self.sample_sizes[place])
            for place in range(self.sample_count)
        ]


def bodies(Corpus corpus not None, uint64_t seed, int64_t count, parse, int64_t sample_every):
    """Mutated bodies to ``parse``, which gets a view: how many it took, and some of those that it took."""
    cdef uint64_t state = seed
    cdef size_t size = 0
    cdef int64_t taken = 0
    cdef uint8_t *data
    cdef list samples = []
    for _ in range(count):
        data = mutated(&state, corpus.pieces, corpus.count, &size)
        if data == NULL:
            raise MemoryError
        try:
            if size and parse(<uint8_t[:size]>data) is not None:
                taken += 1
                if taken % sample_every == 0:
                    samples.append(PyBytes_FromStringAndSize(<char *>data, <Py_ssize_t>size))
        finally:
            free(data)
    return taken, samples
