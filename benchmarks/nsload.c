/* nsload: route lookups (GET_ROUTEINFO_BY_TOPIC) against a name server on this machine, as fast as it answers.
 *
 *   nsload PORT PID CONNECTIONS DEPTH json|rocketmq TOPICS SECONDS
 *
 * Keeps DEPTH requests outstanding on each connection: every answer is followed by the next request on its connection.
 * Topics are named topic-000000 and so on. With SECONDS they are asked for in a fixed pseudo-random order: first for a
 * fifth of the time unmeasured, then for the time, or until there are ROUNDS_MIN answers for each outstanding request,
 * so that answers which the server has made but this program has not yet read do not weigh. With SECONDS 0 each topic
 * is asked for exactly once. Prints one JSON line: requests, errors (code not 0, or no body), requests a second,
 * latency quantiles from send to whole answer, bytes an answer, and the CPU time that the process PID used for one
 * request. Exit status 1, with a word on stderr, if the server closes a connection or is silent for 10 seconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH_MAX = 64, CONNECTIONS_MAX = 1024, TOPICS_MAX = 1000000, FRAME_MAX = 256, SECONDS_MAX = 60 };
enum { ANSWER_MAX = 16 << 20, LATENCIES_MAX = 8 << 20, SILENCE_MAX_MS = 10000, OPAQUE_DIGITS = 9, ROUNDS_MIN = 20 };

struct connection {
    int fd;
    unsigned sent, answered;      /* counts; the difference is outstanding */
    double sent_at[DEPTH_MAX];    /* matched to answers by count: with more than one outstanding they may overtake */
    char *buffer;
    size_t have, room;
};

struct request { uint16_t size, opaque_at; char bytes[FRAME_MAX]; };

static struct request *requests;  /* one a topic, its opaque written anew at each sending */
static struct connection connections[CONNECTIONS_MAX];
static int topics, depth, binary, each_once, next_topic;
static clockid_t server_clock;
static uint64_t answers, errors, bytes;
static float *latencies_us;
static size_t latencies;

static void fail(const char *what) { fprintf(stderr, "nsload: %s\n", what); exit(1); }

static double seconds_of(clockid_t clock) {
    struct timespec t;
    if (clock_gettime(clock, &t)) fail("cannot read a clock: has the server ended?");
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static double now(void) { return seconds_of(CLOCK_MONOTONIC); }

static char *put32(char *at, uint32_t value) { value = htonl(value); memcpy(at, &value, 4); return at + 4; }

static char *put_pair(char *at, const char *key, const char *value) {
    size_t key_size = strlen(key), value_size = strlen(value);
    *at++ = (char)(key_size >> 8); *at++ = (char)key_size;
    at = mempcpy(at, key, key_size);
    return mempcpy(put32(at, value_size), value, value_size);
}

static size_t binary_header(char *at, const char *topic, uint16_t *opaque_at) {
    char *end = put_pair(put_pair(at + 21, "topic", topic), "acceptStandardJsonOnly", "true");
    memcpy(at, "\0\151\0\2\1", 5);                                    /* code 105, JAVA, version 513 */
    put32(put32(put32(put32(at + 5, 0), 0), 0), end - at - 21);        /* opaque, flag, remark, extFields */
    *opaque_at = 8 + 5;
    return end - at;
}

static size_t json_header(char *at, const char *topic, uint16_t *opaque_at) {
    int before = sprintf(at, "{\"code\":105,\"extFields\":{\"acceptStandardJsonOnly\":\"true\",\"topic\":\"%s\"},"
                             "\"flag\":0,\"language\":\"JAVA\",\"opaque\":", topic);
    *opaque_at = 8 + before;
    return before + sprintf(at + before, "%0*d,\"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}", OPAQUE_DIGITS, 0);
}

static void make_requests(void) {
    requests = calloc(topics, sizeof *requests);
    for (int i = 0; i < topics; i++) {
        struct request *r = &requests[i];
        char topic[16];
        snprintf(topic, sizeof topic, "topic-%06d", i % TOPICS_MAX);
        size_t header = (binary ? binary_header : json_header)(r->bytes + 8, topic, &r->opaque_at);
        put32(put32(r->bytes, 4 + header), (uint32_t)header | (binary ? 1u << 24 : 0));
        r->size = 8 + header;
    }
}

static struct request *choose(void) {
    static uint64_t random = 88172645463325252ull;
    static uint32_t opaque = 100000000;
    int topic = next_topic++;
    if (!each_once) {
        random ^= random << 13; random ^= random >> 7; random ^= random << 17;
        topic = (random >> 11) % topics;
    }
    struct request *r = &requests[topic];
    opaque = opaque < 999999999 ? opaque + 1 : 100000000;              /* always nine digits */
    if (binary) { put32(r->bytes + r->opaque_at, opaque); return r; }
    for (uint32_t at = OPAQUE_DIGITS, rest = opaque; at--; rest /= 10) r->bytes[r->opaque_at + at] = '0' + rest % 10;
    return r;
}

static void send_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t sent = write(fd, data, size);
        if (sent < 0 && errno != EAGAIN) fail("a connection broke while sending");
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        if (sent < 0 && poll(&writable, 1, SILENCE_MAX_MS) < 1) fail("the server does not read");
        if (sent > 0) { data += sent; size -= sent; }
    }
}

static void fill(struct connection *c) {
    static char out[DEPTH_MAX * FRAME_MAX];
    size_t size = 0;
    double at = now();
    while (c->sent - c->answered < (unsigned)depth && (!each_once || next_topic < topics)) {
        struct request *r = choose();
        memcpy(out + size, r->bytes, r->size);
        size += r->size;
        c->sent_at[c->sent++ % DEPTH_MAX] = at;
    }
    send_all(c->fd, out, size);
}

static int is_good(const char *frame, uint32_t length) {
    uint32_t word;
    memcpy(&word, frame + 4, 4);
    word = ntohl(word);
    uint32_t header = word & 0xffffff;
    if (header + 4 >= length) return 0;
    return word >> 24 ? !frame[8] && !frame[9] : memmem(frame + 8, header, "\"code\":0,", 9) != NULL;
}

static void take_answers(struct connection *c) {
    size_t at = 0;
    double time = now();
    uint32_t length;
    while (c->have - at >= 4) {
        memcpy(&length, c->buffer + at, 4);
        length = ntohl(length);
        if (length > ANSWER_MAX) fail("an answer larger than 16 MiB");
        if (c->have - at < 4 + (size_t)length) break;
        if (latencies < LATENCIES_MAX) latencies_us[latencies++] = (time - c->sent_at[c->answered % DEPTH_MAX]) * 1e6;
        if (!is_good(c->buffer + at, length)) errors++;
        c->answered++; answers++; bytes += 4 + length; at += 4 + length;
    }
    memmove(c->buffer, c->buffer + at, c->have -= at);
}

static void read_from(struct connection *c) {
    if (c->room - c->have < 65536 && !(c->buffer = realloc(c->buffer, c->room += c->room + 65536))) fail("no memory");
    ssize_t got = read(c->fd, c->buffer + c->have, c->room - c->have);
    if (got == 0 || (got < 0 && errno != EAGAIN)) fail("the server closed a connection");
    if (got < 0) return;
    c->have += got;
    take_answers(c);
    fill(c);
}

static int connect_all(int port, int count) {
    int poller = epoll_create1(0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    for (struct connection *c = connections; c < connections + count; c++) {
        c->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(c->fd, (void *)&address, sizeof address)) fail("cannot connect");
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        fcntl(c->fd, F_SETFL, O_NONBLOCK);
        epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = c});
    }
    return poller;
}

static int ascending(const void *a, const void *b) { return (*(float *)a > *(float *)b) - (*(float *)a < *(float *)b); }

static double quantile(double q) { return latencies ? latencies_us[(size_t)((latencies - 1) * q)] : 0; }

static void report(double took, double cpu) {
    qsort(latencies_us, latencies, sizeof *latencies_us, ascending);
    printf("{\"requests\":%lu,\"errors\":%lu,\"per_second\":%.0f,\"p50_us\":%.0f,\"p99_us\":%.0f,\"answer_bytes\":%.0f,"
           "\"cpu_us_per_request\":%.3f}\n", answers, errors, answers / took, quantile(.5), quantile(.99),
           answers ? (double)bytes / answers : 0, answers ? cpu * 1e6 / answers : 0);
}

static int is_over(int connected, double seconds) {
    if (each_once) return answers == (uint64_t)topics;
    return seconds > SECONDS_MAX || (seconds >= 0 && answers >= (uint64_t)ROUNDS_MIN * connected * depth);
}

static void run(int poller, int connected, double seconds) {
    struct epoll_event ready[256];
    double start = now(), cpu = seconds_of(server_clock), measured_from = start + seconds / 5;
    int measuring = each_once;
    for (int i = 0; i < connected; i++) fill(&connections[i]);
    for (;;) {
        double time = now();
        if (!measuring && time >= measured_from) {
            measuring = 1;
            answers = errors = bytes = latencies = 0;
            start = time; cpu = seconds_of(server_clock);
        }
        if (measuring && is_over(connected, time - measured_from - seconds)) break;
        int count = epoll_wait(poller, ready, 256, SILENCE_MAX_MS);
        if (count < 1) fail("no answer for 10 s");
        for (int i = 0; i < count; i++) read_from(ready[i].data.ptr);
    }
    report(now() - start, seconds_of(server_clock) - cpu);
}

static int number(const char *text, int least, int most) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || value < least || value > most) fail("a number is missing or out of range");
    return value;
}

int main(int count, char **words) {
    if (count != 8) fail("usage: nsload PORT PID CONNECTIONS DEPTH json|rocketmq TOPICS SECONDS");
    if (clock_getcpuclockid(number(words[2], 1, INT32_MAX), &server_clock)) fail("no such process");
    depth = number(words[4], 1, DEPTH_MAX);
    binary = !strcmp(words[5], "rocketmq");
    topics = number(words[6], 1, TOPICS_MAX);
    double seconds = atof(words[7]);
    if (seconds < 0 || seconds > SECONDS_MAX) fail("SECONDS is 0 to 60");
    each_once = seconds == 0;
    latencies_us = malloc(LATENCIES_MAX * sizeof *latencies_us);
    make_requests();
    int port = number(words[1], 1, 65535), wanted = number(words[3], 1, CONNECTIONS_MAX);
    run(connect_all(port, wanted), wanted, seconds);
    return 0;
}
