/* nsload: route lookups against a name server on this machine, as fast as it answers.
 *
 *   nsload PORT PID CONNECTIONS DEPTH json|rocketmq TOPICS SECONDS
 *
 * Keeps DEPTH requests outstanding on each connection: every answer is followed by the next request on its connection.
 * With SECONDS topics are asked for in a fixed pseudo-random order: first for a fifth of the time unmeasured, then for
 * the time, longer (up to TIMES_MAX) until there are ROUNDS_MIN answers for each outstanding request, so that answers
 * which the server has made but this program has not yet read do not weigh. With SECONDS 0 each topic is asked for
 * exactly once. Prints one JSON line: requests, errors (answers without a route), requests a second, latency quantiles
 * from send to whole answer, bytes an answer, and the CPU time that the process PID used for one request.
 */
#include "requests.h"

enum { LATENCIES_MAX = 8 << 20, BUFFER = 4 << 20, ROUNDS_MIN = 2, TIMES_MAX = 6, ASK_EVERY = 500 };

struct connection {
    int fd;
    unsigned sent, answered;      /* counts; the difference is outstanding */
    double sent_at[DEPTH_MAX];    /* matched to answers by count: with more than one outstanding they may overtake */
    char *rest;                   /* the begin of an answer whose end is still to come */
    size_t have;
};

static struct connection connections[CONNECTIONS_MAX];
static char buffer[BUFFER];
static int topics, depth, each_once, next_topic;
static clockid_t server_clock;
static uint64_t answers, errors, bytes;
static int first_error;           /* the code of the first answer without a route */
static float *latencies_us;
static size_t latencies;

static void fill(struct connection *c) {
    static char out[DEPTH_MAX * REQUEST_MAX];
    char *end = out;
    double at = now();
    while (c->sent - c->answered < (unsigned)depth && (!each_once || next_topic < topics)) {
        end = put_request(end, each_once ? (uint32_t)next_topic++ : random_below(topics));
        c->sent_at[c->sent++ % DEPTH_MAX] = at;
    }
    send_all(c->fd, out, end - out);
}

static size_t take_answers(struct connection *c, const char *from, size_t have) {
    size_t at = 0;
    double time = now();
    while (have - at >= 4) {
        uint32_t length = get32(from + at);
        if (length > ANSWER_MAX) fail("an answer larger than 16 MiB");
        if (have - at < 4 + (size_t)length) break;
        if (latencies < LATENCIES_MAX) latencies_us[latencies++] = (time - c->sent_at[c->answered % DEPTH_MAX]) * 1e6f;
        if (!is_route(from + at, length) && !errors++) first_error = code_of(from + at);
        c->answered++; answers++; bytes += 4 + length; at += 4 + length;
    }
    return at;
}

static void keep(struct connection *c, const char *from, size_t size) {
    free(c->rest);
    c->rest = NULL;
    c->have = size;
    if (size && !(c->rest = malloc(size))) fail("no memory");
    if (size) memcpy(c->rest, from, size);
}

static void read_from(struct connection *c) {
    if (c->have) memcpy(buffer, c->rest, c->have);
    ssize_t got = read(c->fd, buffer + c->have, BUFFER - c->have);
    if (got == 0 || (got < 0 && errno != EAGAIN)) fail("the server closed a connection");
    if (got < 0) return;
    size_t have = c->have + got, taken = take_answers(c, buffer, have);
    if (have == BUFFER && !taken) fail("an answer larger than the buffer");
    if (c->have || have > taken) keep(c, buffer + taken, have - taken);
    if (taken) fill(c);
}

/* Now and then one request is asked and waited for: then the server has accepted all before, its backlog is empty. */
static int connect_all(int port, int count) {
    int poller = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        struct connection *c = &connections[i];
        c->fd = connect_to(port);
        snprintf(where, sizeof where, ", when %d of %d were open", i, count);
        if ((i + 1) % ASK_EVERY == 0 || i + 1 == count) ask(c->fd, 0);
        fcntl(c->fd, F_SETFL, O_NONBLOCK);
        epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = c});
    }
    where[0] = 0;
    return poller;
}

static void report(double took, double cpu) {
    qsort(latencies_us, latencies, sizeof *latencies_us, ascending);
    printf("{\"requests\":%lu,\"errors\":%lu,\"first_error\":%d,\"per_second\":%.0f,\"p50_us\":%.1f,\"p99_us\":%.1f,"
           "\"p999_us\":%.1f,\"answer_bytes\":%.0f,\"cpu_us\":%.3f}\n", answers, errors, first_error, answers / took,
           quantile(latencies_us, latencies, .5), quantile(latencies_us, latencies, .99),
           quantile(latencies_us, latencies, .999), answers ? (double)bytes / answers : 0,
           answers ? cpu * 1e6 / answers : 0);
}

static int is_over(int connected, double took, double seconds) {
    if (each_once) return answers == (uint64_t)topics;
    return took >= TIMES_MAX * seconds || (took >= seconds && answers >= (uint64_t)ROUNDS_MIN * connected * depth);
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
        if (measuring && is_over(connected, time - measured_from, seconds)) break;
        int count = epoll_wait(poller, ready, 256, SILENCE_MAX_MS);
        if (count < 1) fail("no answer for 10 s");
        for (int i = 0; i < count; i++) read_from(ready[i].data.ptr);
    }
    report(now() - start, seconds_of(server_clock) - cpu);
}

int main(int count, char **words) {
    if (count != 8) fail("usage: nsload PORT PID CONNECTIONS DEPTH json|rocketmq TOPICS SECONDS");
    if (clock_getcpuclockid(number(words[2], 1, INT32_MAX), &server_clock)) fail("no such process");
    depth = number(words[4], 1, DEPTH_MAX);
    make_template(!strcmp(words[5], "rocketmq"));
    topics = number(words[6], 1, TOPICS_MAX);
    double seconds = atof(words[7]);
    if (seconds < 0 || seconds > SECONDS_MAX) fail("SECONDS is 0 to 60");
    each_once = seconds == 0;
    latencies_us = malloc(LATENCIES_MAX * sizeof *latencies_us);
    int port = number(words[1], 1, 65535), wanted = number(words[3], 1, CONNECTIONS_MAX);
    signal(SIGPIPE, SIG_IGN);                                          /* a write then fails with a word */
    run(connect_all(port, wanted), wanted, seconds);
    return 0;
}
