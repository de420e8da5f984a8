/* What nsload and nspaced share: many connections, and the whole answers in what they receive. */
#include "requests.h"

enum { BUFFER = 4 << 20, ASK_EVERY = 500 };

/* The first member of each program's struct connection. */
struct stream {
    int fd;
    char *rest;                   /* the beginning of an answer whose end has not arrived yet */
    size_t have;
};

/* Gets each whole answer; ``length`` is what its first four bytes say. */
typedef void take_answer_fn(void *connection, const char *frame, uint32_t length, double time);

static char buffer[BUFFER];

static inline size_t take_answers(struct stream *s, const char *from, size_t have, take_answer_fn *take) {
    size_t at = 0;
    double time = now();
    while (have - at >= 8) {
        uint32_t length = get32(from + at);
        if (length > ANSWER_MAX) fail("an answer larger than 16 MiB");
        if (have - at < 4 + (size_t)length) break;
        take(s, from + at, length, time);
        at += 4 + length;
    }
    return at;
}

static inline void keep(struct stream *s, const char *from, size_t size) {
    free(s->rest);
    s->rest = NULL;
    s->have = size;
    if (size && !(s->rest = malloc(size))) fail("no memory");
    if (size) memcpy(s->rest, from, size);
}

/* Read once; the bytes of the whole answers among it, each of which was given to ``take``. */
static inline size_t read_answers(struct stream *s, take_answer_fn *take) {
    if (s->have) memcpy(buffer, s->rest, s->have);
    ssize_t got = socket_read(s->fd, buffer + s->have, BUFFER - s->have);
    if (got == 0 || (got < 0 && errno != EAGAIN)) fail("the server closed a connection");
    if (got < 0) return 0;
    size_t have = s->have + got, taken = take_answers(s, buffer, have, take);
    if (have == BUFFER && !taken) fail("an answer larger than the buffer");
    if (s->have || have > taken) keep(s, buffer + taken, have - taken);
    return taken;
}

/* Open ``count`` connections of ``size`` bytes each, each with a struct stream first; the epoll descriptor. Every
 * ASK_EVERY connections one request is sent and its answer awaited: by then the server has accepted all connections
 * before it, so its backlog never overflows. */
static inline int connect_all(void *connections, size_t size, int port, int count) {
    int poller = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        struct stream *s = (struct stream *)((char *)connections + i * size);
        s->fd = connect_to(port);
        snprintf(where, sizeof where, ", when %d of %d were open", i, count);
        if ((i + 1) % ASK_EVERY == 0 || i + 1 == count) ask(s->fd, 0);
        fcntl(s->fd, F_SETFL, O_NONBLOCK);
        epoll_ctl(poller, EPOLL_CTL_ADD, s->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = s});
    }
    where[0] = 0;
    return poller;
}
