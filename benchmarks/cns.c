/* cns: a simple C server that answers route requests and holds no routes. It shows what sockets alone cost.
 *
 *   cns PORT BODY_FILE [PAIR.pem]
 *
 * One thread, edge-triggered epoll. Each read and each write covers all requests that are there. The answers are
 * prepared: a block of equal answers with their bodies is in memory, and only the opaques are written before they are
 * sent. A request of the same form as the last one is recognised by comparing some bytes, without a search. The body
 * of each answer is the file. Any request other than GET_ROUTEINFO_BY_TOPIC gets a success without body once all its
 * bytes have been received; they are discarded. Listens on 127.0.0.1 until it is killed. Compiled with -DTLS it answers
 * TLS, too.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "sockets.h"

enum { FRAME_MAX = 16 << 20, IN = 1 << 20, SCRATCH = 256 << 10, BODY_MAX = 1 << 20, BLOCK_MAX = 4 << 20 };
enum { CONNECTIONS_MAX = 65536, DIGITS_MAX = 11, HEAD_MAX = 65536, REPEATS_MAX = 512, ROUTE = 1, BINARY = 2 };

/* ``repeats`` answers behind each other, all with an opaque of ``digits`` bytes at ``opaque_at`` of each. */
struct block { char *bytes; size_t size, repeats, opaque_at, digits; };
struct request { int kind; size_t digits; char opaque[DIGITS_MAX + 1]; };
/* ``rest``: the beginning of a frame whose header is not complete. ``drop``: bytes of a body that are still to come;
 * then ``waiting`` is answered. */
struct connection { char *rest; size_t have, drop; struct request waiting; };

static struct block blocks[4];                                         /* by ROUTE | BINARY */
static struct { size_t size, opaque_at, digits; char head[19]; } last; /* the last JSON route request */
static struct connection connections[CONNECTIONS_MAX];
static char in[IN + HEAD_MAX], scratch[SCRATCH], body[BODY_MAX];
static size_t body_size;

static void fail(const char *what) { perror(what); exit(1); }

static char *put32(char *at, uint32_t value) { value = htonl(value); memcpy(at, &value, 4); return at + 4; }

static uint32_t get32(const char *at) { uint32_t value; memcpy(&value, at, 4); return ntohl(value); }

static void prepare(struct block *b, int kind, size_t digits) {
    static const char json_before[] = "{\"code\":0,\"flag\":1,\"language\":\"JAVA\",\"opaque\":";
    static const char json_after[] = ",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}";
    static const char binary_before[] = "\0\0\0\2\1", binary_after[] = "\0\0\0\1\0\0\0\0\0\0\0\0";
    size_t before = (kind & BINARY ? sizeof binary_before : sizeof json_before) - 1;
    size_t after = (kind & BINARY ? sizeof binary_after : sizeof json_after) - 1;
    size_t header = before + digits + after, with = kind & ROUTE ? body_size : 0;
    b->size = 8 + header + with; b->opaque_at = 8 + before; b->digits = digits;
    b->repeats = b->size * REPEATS_MAX <= BLOCK_MAX ? REPEATS_MAX : BLOCK_MAX / b->size + 1;
    free(b->bytes);
    char *at = b->bytes = malloc(b->size * b->repeats);
    if (!at) fail("malloc");
    for (size_t i = 0; i < b->repeats; i++) {
        at = put32(put32(at, 4 + header + with), (uint32_t)header | (kind & BINARY ? 1u << 24 : 0));
        at = mempcpy(mempcpy(at, kind & BINARY ? binary_before : json_before, before), "00000000000", digits);
        at = mempcpy(mempcpy(at, kind & BINARY ? binary_after : json_after, after), body, with);
    }
}

static size_t digits_at(const char *at) {
    size_t count = 0;
    while (count < DIGITS_MAX && (at[count] == '-' || (at[count] >= '0' && at[count] <= '9'))) count++;
    return count;
}

/* Finds what a frame asks. A JSON route request is remembered, so that the next needs no search. */
static void search(struct request *r, const char *frame, size_t header) {
    const char *found = memmem(frame + 8, header, "\"opaque\":", 9);
    r->kind = memmem(frame + 8, header, "\"code\":105,", 11) ? ROUTE : 0;
    r->digits = found ? digits_at(found + 9) : 1;
    memcpy(r->opaque, found ? found + 9 : "0", r->digits);
    if (!found || !(r->kind & ROUTE) || header < 11 || memcmp(frame + 8, "{\"code\":105,", 11)) return;
    last.size = 4 + get32(frame); last.opaque_at = found + 9 - frame; last.digits = r->digits;
    memcpy(last.head, frame, sizeof last.head);
}

static void read_request(struct request *r, const char *frame) {
    uint32_t word = get32(frame + 4), header = word & 0xffffff;
    if (word >> 24) {
        r->kind = BINARY | (frame[8] == 0 && frame[9] == 105 ? ROUTE : 0);
        memcpy(r->opaque, frame + 13, r->digits = 4);
    } else if (last.size && !memcmp(frame, last.head, sizeof last.head)
               && !memcmp(frame + last.opaque_at - 9, "\"opaque\":", 9) && frame[last.opaque_at + last.digits] == ',') {
        r->kind = ROUTE;
        memcpy(r->opaque, frame + last.opaque_at, r->digits = last.digits);
    } else search(r, frame, header);
}

static void send_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t sent = socket_write(fd, data, size);
        if (sent < 0 && errno != EAGAIN) return;                       /* the next read reports that it is closed */
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        if (sent < 0 && poll(&writable, 1, 10000) < 1) return;
        if (sent > 0) { data += sent; size -= sent; }
    }
}

/* Writes the opaque into the next answer of the kind's block. ``used`` answers of ``kind`` are ready; they are sent first
 * where this answer cannot follow them. */
static void answer(int fd, const struct request *r, int *kind, size_t *used) {
    struct block *b = &blocks[r->kind];
    if (*used && (*kind != r->kind || b->digits != r->digits || *used == b->repeats)) {
        send_all(fd, blocks[*kind].bytes, *used * blocks[*kind].size);
        *used = 0;
    }
    if (b->digits != r->digits) prepare(b, r->kind, r->digits);
    memcpy(b->bytes + *used * b->size + b->opaque_at, r->opaque, r->digits);
    *kind = r->kind; ++*used;
}

/* Answers whole frames; returns how many bytes were taken. A frame whose header is complete is taken as well. */
static size_t answer_all(int fd, struct connection *c, const char *from, size_t have) {
    size_t at = 0, used = 0;
    int kind = 0;
    while (have - at >= 8 && have - at >= 8 + (size_t)(get32(from + at + 4) & 0xffffff)) {
        struct request r;
        size_t size = 4 + (size_t)get32(from + at);
        read_request(&r, from + at);
        if (have - at < size) { c->waiting = r; c->drop = size - (have - at); at = have; break; }
        answer(fd, &r, &kind, &used);
        at += size;
    }
    if (used) send_all(fd, blocks[kind].bytes, used * blocks[kind].size);
    return at;
}

static void answer_waiting(int fd, struct connection *c) {
    int kind = 0;
    size_t used = 0;
    answer(fd, &c->waiting, &kind, &used);
    send_all(fd, blocks[kind].bytes, blocks[kind].size);
}

static void end(int fd) {
    free(connections[fd].rest);
    connections[fd] = (struct connection){0};
    socket_close(fd);
}

/* 0 if nothing is left to read. */
static int drop_some(int fd, struct connection *c) {
    size_t wanted = c->drop < SCRATCH ? c->drop : SCRATCH;
    ssize_t got = socket_read(fd, scratch, wanted);
    if (got < 0 && errno == EAGAIN) return 0;
    if (got <= 0) { end(fd); return 0; }
    if (!(c->drop -= got)) answer_waiting(fd, c);
    return (size_t)got == wanted;
}

static int is_frame(const char *data, size_t have) {
    return have < 8 || (get32(data) <= FRAME_MAX && (get32(data + 4) & 0xffffff) <= HEAD_MAX - 8
                        && (get32(data + 4) & 0xffffff) + 4 <= get32(data));
}

static int read_some(int fd, struct connection *c) {
    if (c->have) memcpy(in, c->rest, c->have);
    ssize_t got = socket_read(fd, in + c->have, IN);
    if (got < 0 && errno == EAGAIN) return 0;
    if (got <= 0 || !is_frame(in, c->have + got)) { end(fd); return 0; }
    size_t have = c->have + got, taken = answer_all(fd, c, in, have);
    free(c->rest);
    c->rest = NULL;
    c->have = have - taken;
    if (!c->have) return got == IN;
    if (c->have > HEAD_MAX || !is_frame(in + taken, c->have)) { end(fd); return 0; }
    if (!(c->rest = malloc(c->have))) fail("malloc");
    memcpy(c->rest, in + taken, c->have);
    return got == IN;
}

/* After a short read nothing is left, and further bytes make a new event. ``ends``: the peer has closed; the last bytes
 * may have arrived with that event, so they are read first. */
static void serve(int fd, int ends) {
    struct connection *c = &connections[fd];
    while ((c->drop ? drop_some : read_some)(fd, c)) {}
    if (ends) end(fd);
}

static int listen_on(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (void *)&address, sizeof address) || listen(fd, 1024)) fail("bind");
    return fd;
}

static void take_connection(int listener, int poller) {
    int one = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0 || fd >= CONNECTIONS_MAX) { if (fd >= 0) close(fd); return; }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = fd};
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

int main(int count, char **words) {
    FILE *file = count >= 3 ? fopen(words[2], "rb") : NULL;
    if (!file) fail("usage: cns PORT BODY_FILE [PAIR.pem]");
#ifdef TLS
    if (count != 4 || !use_pair(words[3])) fail("a key and a certificate are needed");
#endif
    body_size = fread(body, 1, sizeof body, file);
    signal(SIGPIPE, SIG_IGN);                                          /* a client that is gone must not end the server */
    for (int kind = 0; kind < 4; kind++) prepare(&blocks[kind], kind, kind & BINARY ? 4 : 9);
    int listener = listen_on(atoi(words[1])), poller = epoll_create1(0);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.fd = listener});
    struct epoll_event ready[256];
    for (;;) {
        int events = epoll_wait(poller, ready, 256, -1);
        for (int i = 0; i < events; i++) {
            if (ready[i].data.fd == listener) take_connection(listener, poller);
            else serve(ready[i].data.fd, ready[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR));
        }
    }
}
