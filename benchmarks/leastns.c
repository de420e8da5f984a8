/* leastns: the least that a name server must do for a route request, as a bound for what a real one can reach.
 *
 *   leastns PORT BODY_FILE
 *
 * One thread, epoll, one read, find the frames, find the opaque, one write of an answer that was made at start and
 * has nothing but its opaque put in; it holds no routes and looks nothing up. The answer's body is that file. Any other
 * request than GET_ROUTEINFO_BY_TOPIC gets a success without body once all its bytes have been received: that is the
 * least a registration can cost. Listens on 127.0.0.1 until it is killed.
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

enum { FRAME_MAX = 16 << 20, IN = 2 << 20, OUT = 8 << 20, BODY_MAX = 1 << 20 };
enum { CONNECTIONS_MAX = 65536, DIGITS_MAX = 11, HEAD_MAX = 65536 };

/* An answer is before + opaque + after; in JSON the opaque's digits make two lengths differ. */
struct answer { char before[256], *after; size_t before_size, after_size; int binary; };
struct connection { char *rest; size_t have; };

static struct answer json_route, binary_route, json_done, binary_done;
static struct connection connections[CONNECTIONS_MAX];
static char in[IN], out[OUT], *spare;

static void fail(const char *what) { perror(what); exit(1); }

static char *put32(char *at, uint32_t value) { value = htonl(value); memcpy(at, &value, 4); return at + 4; }

static uint32_t get32(const char *at) { uint32_t value; memcpy(&value, at, 4); return ntohl(value); }

static void make(struct answer *a, int binary, const char *body, size_t size) {
    static const char json_before[] = "{\"code\":0,\"flag\":1,\"language\":\"JAVA\",\"opaque\":";
    static const char json_after[] = ",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}";
    static const char binary_before[] = "\0\0\0\2\1", binary_after[] = "\0\0\0\1\0\0\0\0\0\0\0\0";
    a->binary = binary;
    a->before_size = (binary ? sizeof binary_before : sizeof json_before) - 1;
    memcpy(a->before + 8, binary ? binary_before : json_before, a->before_size);
    a->before_size += 8;
    size_t head = (binary ? sizeof binary_after : sizeof json_after) - 1;
    if (!(a->after = malloc(head + size))) fail("malloc");
    memcpy(a->after, binary ? binary_after : json_after, head);
    memcpy(a->after + head, body, size);
    a->after_size = head + size;
    put32(a->before + 4, (uint32_t)(a->before_size - 8 + head));       /* of the header, still without the opaque */
}

static char *put_answer(char *at, const struct answer *a, const char *opaque, size_t size) {
    char *start = at;
    at = mempcpy(mempcpy(mempcpy(at, a->before, a->before_size), opaque, size), a->after, a->after_size);
    put32(start + 4, (get32(a->before + 4) + (uint32_t)size) | (a->binary ? 1u << 24 : 0));
    put32(start, at - start - 4);
    return at;
}

static char *answer_to(char *at, const char *frame) {
    uint32_t word = get32(frame + 4), header = word & 0xffffff;
    if (word >> 24) return put_answer(at, frame[8] || frame[9] != 105 ? &binary_done : &binary_route, frame + 13, 4);
    const char *found = memmem(frame + 8, header, "\"opaque\":", 9), *opaque = found ? found + 9 : "0,", *end = opaque;
    while (end - opaque < DIGITS_MAX && (*end == '-' || (*end >= '0' && *end <= '9'))) end++;
    int is_route = memmem(frame + 8, header, "\"code\":105,", 11) != NULL;
    return put_answer(at, is_route ? &json_route : &json_done, opaque, end - opaque);
}

static void send_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t sent = write(fd, data, size);
        if (sent < 0 && errno != EAGAIN) return;                       /* the next read sees that it is closed */
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        if (sent < 0 && poll(&writable, 1, 10000) < 1) return;
        if (sent > 0) { data += sent; size -= sent; }
    }
}

static size_t answer_all(int fd, const char *from, size_t have) {
    size_t at = 0;
    char *end = out;
    while (have - at >= 8 && have - at >= 4 + (size_t)get32(from + at)) {
        end = answer_to(end, from + at);
        at += 4 + get32(from + at);
        if (end - out > OUT - BODY_MAX - HEAD_MAX) { send_all(fd, out, end - out); end = out; }
    }
    send_all(fd, out, end - out);
    return at;
}

/* A frame that is not there as a whole waits in a buffer with room for the largest; one free buffer is kept. */
static void keep(struct connection *c, const char *from, size_t size) {
    if (!spare && !(spare = malloc(FRAME_MAX + 4 + IN))) fail("malloc");
    c->rest = spare;
    spare = NULL;
    memcpy(c->rest, from, c->have = size);
}

static void forget(struct connection *c) {
    if (spare) free(c->rest);
    else spare = c->rest;
    c->rest = NULL; c->have = 0;
}

static void serve(int fd) {
    struct connection *c = &connections[fd];
    char *data = c->rest ? c->rest : in;
    ssize_t got = read(fd, data + c->have, IN);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) { forget(c); close(fd); return; }
    size_t have = c->have + got;
    if (have >= 4 && get32(data) > FRAME_MAX) { forget(c); close(fd); return; }
    size_t taken = answer_all(fd, data, have);
    if (!c->rest && taken < have) { keep(c, data + taken, have - taken); return; }
    if (!c->rest) return;
    c->have = have - taken;
    if (!c->have) forget(c);
    else if (taken) memmove(data, data + taken, c->have);
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
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.fd = fd});
}

int main(int count, char **words) {
    static char body[BODY_MAX];
    FILE *file = count == 3 ? fopen(words[2], "rb") : NULL;
    if (!file) fail("usage: leastns PORT BODY_FILE");
    size_t size = fread(body, 1, sizeof body, file);
    signal(SIGPIPE, SIG_IGN);                                          /* a client that has gone is no reason to end */
    make(&json_route, 0, body, size); make(&binary_route, 1, body, size);
    make(&json_done, 0, "", 0); make(&binary_done, 1, "", 0);
    int listener = listen_on(atoi(words[1])), poller = epoll_create1(0);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.fd = listener});
    struct epoll_event ready[256];
    for (;;) {
        int events = epoll_wait(poller, ready, 256, -1);
        for (int i = 0; i < events; i++) {
            if (ready[i].data.fd == listener) take_connection(listener, poller);
            else serve(ready[i].data.fd);
        }
    }
}
