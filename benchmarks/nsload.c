/* nsload: route lookups against a name server on this machine, as fast as it answers.
 *
 *   nsload PORT PID CONNECTIONS DEPTH json|rocketmq|json-signed|rocketmq-signed TOPICS SECONDS
 *
 * Keeps DEPTH requests outstanding on each connection: every answer is followed by the next request on its connection.
 *
 * With SECONDS, topics are asked for in a fixed pseudo-random order. A fifth of the time is a warm-up. Then the
 * measurement takes SECONDS, and longer (up to TIMES_MAX times) until there are ROUNDS_MIN answers for each outstanding
 * request. Answers that the server has made and this program has not yet read then hardly matter.
 * With SECONDS 0, each topic is asked for exactly once.
 *
 * Prints one JSON line: requests, errors (answers without a route), requests a second, latency quantiles from send to
 * whole answer, bytes an answer, and the CPU time of the process PID for one request.
 */
#include "answers.h"

enum { LATENCIES_MAX = 8 << 20, ROUNDS_MIN = 2, TIMES_MAX = 6 };

struct connection {
    struct stream stream;
    unsigned sent, answered;      /* counts; the difference is outstanding */
    double sent_at[DEPTH_MAX];    /* matched to answers by count: if answers overtake each other, it is approximate */
};

static struct connection connections[CONNECTIONS_MAX];
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
    send_all(c->stream.fd, out, end - out);
}

static void take_answer(void *connection, const char *frame, uint32_t length, double time) {
    struct connection *c = connection;
    if (latencies < LATENCIES_MAX) latencies_us[latencies++] = (time - c->sent_at[c->answered % DEPTH_MAX]) * 1e6f;
    if (!is_route(frame, length) && !errors++) first_error = code_of(frame);
    c->answered++; answers++; bytes += 4 + length;
}

static void read_from(struct connection *c) {
    if (read_answers(&c->stream, take_answer)) fill(c);
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
    if (count != 8) fail("usage: nsload PORT PID CONNECTIONS DEPTH json|rocketmq|json-signed|rocketmq-signed TOPICS SECONDS");
    if (clock_getcpuclockid(number(words[2], 1, INT32_MAX), &server_clock)) fail("no such process");
    depth = number(words[4], 1, DEPTH_MAX);
    make_template(words[5]);
    topics = number(words[6], 1, TOPICS_MAX);
    double seconds = atof(words[7]);
    if (seconds < 0 || seconds > SECONDS_MAX) fail("SECONDS is 0 to 60");
    each_once = seconds == 0;
    latencies_us = malloc(LATENCIES_MAX * sizeof *latencies_us);
    int port = number(words[1], 1, 65535), wanted = number(words[3], 1, CONNECTIONS_MAX);
    signal(SIGPIPE, SIG_IGN);                                          /* a failed write then reports itself */
    run(connect_all(connections, sizeof *connections, port, wanted), wanted, seconds);
    return 0;
}
