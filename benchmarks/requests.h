/* What the load programs share: route requests (GET_ROUTEINFO_BY_TOPIC), frames of answers, clocks, connections.
 *
 * Requests are copies of one template with another topic number and opaque, so a million topics need no more memory
 * and no more time here than one. Topics are named topic-000000 and so on. Signed requests have the fields of a Java
 * client with an access key. Each topic has a signature of its own, which ends with the topic's number. If the server closes a connection or is
 * silent for SILENCE_MAX_MS, the program ends with status 1 and a line on stderr.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "sockets.h"

enum { TOPICS_MAX = 1000000, CONNECTIONS_MAX = 16384, DEPTH_MAX = 64, SECONDS_MAX = 60, SILENCE_MAX_MS = 10000 };
enum { REQUEST_MAX = 320, ANSWER_MAX = 16 << 20, TOPIC_DIGITS = 6, OPAQUE_DIGITS = 9 };

#define ACCESS_KEY "rocketmq"
#define SIGNATURE "ayu7NKYdYIN7Dpv6MbQQFj"                             /* its first part */

static struct { size_t size, topic_at, signature_at, opaque_at; int binary; char bytes[REQUEST_MAX]; } request;
static uint32_t opaque = 100000000;                                  /* always nine digits */

static char where[64];                                               /* added to the text of a failure */

static void fail(const char *what) { fprintf(stderr, "%s%s\n", what, where); exit(1); }

static inline double seconds_of(clockid_t clock) {
    struct timespec t;
    if (clock_gettime(clock, &t)) fail("cannot read a clock: has the server ended?");
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static inline double now(void) { return seconds_of(CLOCK_MONOTONIC); }

static inline char *put32(char *at, uint32_t value) { value = htonl(value); memcpy(at, &value, 4); return at + 4; }

static inline uint32_t get32(const char *at) { uint32_t value; memcpy(&value, at, 4); return ntohl(value); }

static inline char *put_pair(char *at, const char *key, const char *value) {
    size_t key_size = strlen(key), value_size = strlen(value);
    *at++ = (char)(key_size >> 8); *at++ = (char)key_size;
    at = mempcpy(at, key, key_size);
    return mempcpy(put32(at, value_size), value, value_size);
}

static inline size_t binary_header(char *at, int is_signed) {
    char *end = at + 21;
    if (is_signed) end = put_pair(put_pair(end, "Signature", SIGNATURE "000000"), "AccessKey", ACCESS_KEY);
    end = put_pair(put_pair(end, "topic", "topic-000000"), "acceptStandardJsonOnly", "true");
    memcpy(at, "\0\151\0\2\1", 5);                                    /* code 105, JAVA, version 513 */
    put32(put32(put32(put32(at + 5, 0), 0), 0), end - at - 21);        /* opaque, flag, remark, extFields */
    return end - at;
}

static inline size_t json_header(char *at, int is_signed) {
    return sprintf(at, "{\"code\":105,\"extFields\":{%s\"acceptStandardJsonOnly\":\"true\",\"topic\":\"topic-000000\"},"
                   "\"flag\":0,\"language\":\"JAVA\",\"opaque\":000000000,"
                   "\"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}",
                   is_signed ? "\"Signature\":\"" SIGNATURE "000000\",\"AccessKey\":\"" ACCESS_KEY "\"," : "");
}

/* ``form`` is json, rocketmq, json-signed or rocketmq-signed. */
static inline void make_template(const char *form) {
    char *header = request.bytes + 8, *signature;
    int binary = !strncmp(form, "rocketmq", 8);
    size_t size = (binary ? binary_header : json_header)(header, strstr(form, "-signed") != NULL);
    request.binary = binary;
    request.size = 8 + size;
    request.topic_at = (char *)memmem(header, size, "topic-", 6) + 6 - request.bytes;
    signature = memmem(header, size, SIGNATURE, strlen(SIGNATURE));
    request.signature_at = signature ? (size_t)(signature + strlen(SIGNATURE) - request.bytes) : 0;
    request.opaque_at = binary ? 8 + 5 : (size_t)((char *)memmem(header, size, "opaque\":", 8) + 8 - request.bytes);
    put32(request.bytes, 4 + size);
    put32(request.bytes + 4, (uint32_t)size | (binary ? 1u << 24 : 0));
}

static inline void put_digits(char *at, int digits, uint32_t value) {
    for (; digits--; value /= 10) at[digits] = '0' + value % 10;
}

/* One request for a topic, with the next opaque; returns the end. */
static inline char *put_request(char *at, uint32_t topic) {
    memcpy(at, request.bytes, request.size);
    put_digits(at + request.topic_at, TOPIC_DIGITS, topic);
    if (request.signature_at) put_digits(at + request.signature_at, TOPIC_DIGITS, topic);
    opaque = opaque < 999999999 ? opaque + 1 : 100000000;
    if (request.binary) put32(at + request.opaque_at, opaque);
    else put_digits(at + request.opaque_at, OPAQUE_DIGITS, opaque);
    return at + request.size;
}

/* Whether a whole frame is a route: code 0 and a body. ``length`` is what its first four bytes say. */
static inline int is_route(const char *frame, uint32_t length) {
    uint32_t word = get32(frame + 4), header = word & 0xffffff;
    if (header + 4 >= length) return 0;
    return word >> 24 ? !frame[8] && !frame[9] : memmem(frame + 8, header, "\"code\":0,", 9) != NULL;
}

/* The code of an answer, 0 if it has none. */
static inline int code_of(const char *frame) {
    uint32_t word = get32(frame + 4);
    if (word >> 24) return (uint8_t)frame[8] << 8 | (uint8_t)frame[9];
    const char *code = memmem(frame + 8, word & 0xffffff, "\"code\":", 7);
    return code ? atoi(code + 7) : 0;
}

static inline void send_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t sent = socket_write(fd, data, size);
        if (sent < 0 && errno != EAGAIN) fail("the server closed a connection");
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        if (sent < 0 && poll(&writable, 1, SILENCE_MAX_MS) < 1) fail("the server does not read for 10 s");
        if (sent > 0) { data += sent; size -= sent; }
    }
}

/* Wait for bytes and read some of them. */
static inline size_t receive(int fd, char *into, size_t room) {
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    ssize_t got;
    do {
        if (poll(&readable, 1, SILENCE_MAX_MS) < 1) fail("no answer for 10 s");
        got = socket_read(fd, into, room);
    } while (got < 0 && errno == EAGAIN);
    if (got <= 0) fail("the server closed a connection");
    return got;
}

/* Ask for one topic and wait; the size of the whole answer. Its body is not checked. */
static inline size_t ask(int fd, uint32_t topic) {
    static char bytes[65536];
    size_t have = 0, head;
    send_all(fd, bytes, put_request(bytes, topic) - bytes);
    do have += receive(fd, bytes + have, sizeof bytes - have);
    while (have < 8 || have < (head = 8 + (get32(bytes + 4) & 0xffffff)));
    uint32_t length = get32(bytes);
    if (length > ANSWER_MAX || head > sizeof bytes) fail("an answer larger than 16 MiB");
    if (!is_route(bytes, length)) fail("the answer to a route request holds no route");
    while (have < 4 + (size_t)length) have += receive(fd, bytes, sizeof bytes);
    if (have > 4 + (size_t)length) fail("more bytes than an answer has");
    return have;
}

static inline int connect_to(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) fail("no more file descriptors: see ulimit -n");
    if (connect(fd, (void *)&address, sizeof address)) fail("cannot connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
#ifdef TLS
    if (!shake_hands(fd)) fail("the TLS handshake failed");
#endif
    return fd;
}

static inline uint32_t random_below(uint32_t limit) {
    static uint64_t state = 88172645463325252ull;
    state ^= state << 13; state ^= state >> 7; state ^= state << 17;
    return (state >> 11) % limit;
}

static inline int ascending(const void *a, const void *b) {
    return (*(float *)a > *(float *)b) - (*(float *)a < *(float *)b);
}

static inline float quantile(const float *sorted, size_t count, double q) {
    return count ? sorted[(size_t)((count - 1) * q)] : 0;
}

static inline int number(const char *text, int least, int most) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || value < least || value > most) fail("a number is missing or out of range");
    return value;
}
