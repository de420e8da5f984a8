/* nspaced: route lookups at a given rate, as many clients send them, not as fast as the server answers.
 *
 *   nspaced PORT PID CONNECTIONS RATE open|closed json|rocketmq TOPICS SECONDS WARM_S
 *
 * RATE is in requests a second over all connections.
 *
 * open: requests are due at random times (exponential gaps, as from many independent clients), each on a random
 * connection. A request is sent when it is due, whether earlier ones are answered or not. Its latency counts from the
 * time it was due. A server or a generator that falls behind therefore delays all later requests, and none is left out
 * (no coordinated omission). A connection has at most OUTSTANDING_MAX requests. If all are full, sending waits, and
 * the due times stay.
 *
 * closed: each connection is one client with a pause. It is due every CONNECTIONS / RATE seconds and has one request at
 * a time. Due times that pass meanwhile are skipped. Latency counts from the send.
 *
 * The first WARM_S seconds are not measured. Prints one JSON line: requests that came due in the measured time; errors
 * (answers without a route); unanswered (no answer DRAIN_MAX_S after the end; they count with the time until then);
 * answers a second; latency quantiles; how late this program itself sent (late_*: from due to send); the latency
 * without that delay (sent_p99_us); the CPU time of the process PID for one request.
 */
#include "answers.h"
#include <math.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { RATE_MAX = 2000000, PLANNED_MAX = 16 << 20, OUTSTANDING_MAX = 512, BATCH_MAX = 256 };
enum { READY_MAX = 256, TRIES_MAX = 16, SENDS_MAX = 64 };
static const double DRAIN_MAX_S = 10, SEEN = -1;

struct connection {
    struct stream stream;
    int owes;                     /* closed loop: a request came due while another was outstanding */
    unsigned outstanding;
    size_t waiting;               /* bytes in ``out`` */
    char out[8 * REQUEST_MAX];
};

static struct connection connections[CONNECTIONS_MAX], *unsent[BATCH_MAX];
static int connected, topics, is_open, unsent_count;
static clockid_t server_clock;
static double *due_at, *sent_at;  /* by number of the request; due_at is SEEN when it is answered */
static float *latencies_us, *since_sent_us, *late_us;
static size_t planned, measured, measured_first, lates, answers, outstanding;
static uint64_t errors;
static int first_error;
static uint32_t first_opaque;
static double measured_from;

static double gap(double rate) {
    return -log((random_below(1 << 30) + 1.0) / (1 << 30)) / rate;
}

static void flush_one(struct connection *c) {
    if (c->waiting) send_all(c->stream.fd, c->out, c->waiting);
    c->waiting = 0;
}

static void flush_all(void) {
    while (unsent_count) flush_one(unsent[--unsent_count]);
}

/* The next request, into the connection's buffer; what is due together on one connection is sent together. */
static void put(struct connection *c, double due, double time) {
    if (planned == PLANNED_MAX) fail("more requests than this program counts");
    if (c->waiting + REQUEST_MAX > sizeof c->out) flush_one(c);
    if (!c->waiting) unsent[unsent_count++] = c;
    c->waiting = put_request(c->out + c->waiting, random_below(topics)) - c->out;
    c->outstanding++; outstanding++;
    sent_at[planned] = time;
    due_at[planned++] = due;
    if (due < measured_from) measured_first = planned;
    else late_us[lates++] = (time - due) * 1e6;
    if (unsent_count == BATCH_MAX) flush_all();
}

static uint32_t opaque_of(const char *frame) {
    uint32_t word = get32(frame + 4);
    if (word >> 24) return get32(frame + 13);
    const char *found = memmem(frame + 8, word & 0xffffff, "\"opaque\":", 9);
    return found ? strtoul(found + 9, NULL, 10) : 0;
}

static void note(size_t number, double time) {
    since_sent_us[measured] = (time - sent_at[number]) * 1e6;
    latencies_us[measured++] = (time - due_at[number]) * 1e6;
}

static void take_answer(void *connection, const char *frame, uint32_t length, double time) {
    struct connection *c = connection;
    size_t number = opaque_of(frame) - first_opaque;
    if (number >= planned || due_at[number] == SEEN) fail("an answer without a request");
    if (!is_route(frame, length) && !errors++) first_error = code_of(frame);
    if (number >= measured_first) note(number, time);
    due_at[number] = SEEN;
    c->outstanding--; outstanding--; answers++;
}

static void read_from(struct connection *c) {
    if (!read_answers(&c->stream, take_answer) || !c->owes || c->outstanding) return;
    double time = now();
    c->owes = 0;
    put(c, time, time);
}

/* A random connection with room; NULL where none was found. */
static struct connection *with_room(void) {
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        struct connection *c = &connections[random_below(connected)];
        if (c->outstanding < OUTSTANDING_MAX) return c;
    }
    return NULL;
}

/* Sends what is due, at most SENDS_MAX before answers are read again; returns when the next is due. ``turn`` counts the
 * due times of closed clients. */
static double send_due(double next, double end, double rate) {
    static uint64_t turn;
    double time = now();
    for (int sends = 0; next <= time && next < end && sends < SENDS_MAX; sends++) {
        if (is_open) {
            struct connection *c = with_room();
            if (!c) break;                                             /* read answers first; the due time stays */
            put(c, next, now());
            next += gap(rate);
        } else {
            struct connection *c = &connections[turn++ % connected];
            if (c->outstanding) c->owes = 1;
            else put(c, time, time);
            next += 1 / rate;
        }
    }
    flush_all();
    return next;
}

static void wait_and_read(int poller, double until) {
    static struct epoll_event ready[READY_MAX];
    double wait = until - now();
    if (wait < 0) wait = 0;
    struct timespec t = {.tv_sec = (time_t)wait, .tv_nsec = (long)((wait - (time_t)wait) * 1e9)};
    int count = syscall(SYS_epoll_pwait2, poller, ready, READY_MAX, &t, NULL, 0); /* Linux 5.11; nanoseconds */
    for (int i = 0; i < count; i++) read_from(ready[i].data.ptr);
    flush_all();
}

static void report(double rate, double own, double cpu, size_t counted, double took) {
    double time = now();
    size_t unanswered = 0, asked = planned - measured_first;
    for (size_t i = measured_first; i < planned; i++)
        if (due_at[i] != SEEN) { note(i, time); unanswered++; }
    qsort(since_sent_us, measured, sizeof *since_sent_us, ascending);
    qsort(latencies_us, measured, sizeof *latencies_us, ascending);
    qsort(late_us, lates, sizeof *late_us, ascending);
    printf("{\"requests\":%zu,\"errors\":%lu,\"first_error\":%d,\"unanswered\":%zu,\"asked_per_second\":%.0f,"
           "\"per_second\":%.0f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"late_p50_us\":%.1f,"
           "\"late_p99_us\":%.1f,\"sent_p99_us\":%.1f,\"cpu_us\":%.3f,\"own_cpu_us\":%.3f}\n", asked, errors, first_error, unanswered, rate,
           took > 0 ? counted / took : 0, quantile(latencies_us, measured, .5), quantile(latencies_us, measured, .99),
           quantile(latencies_us, measured, .999), quantile(late_us, lates, .5), quantile(late_us, lates, .99),
           quantile(since_sent_us, measured, .99), counted ? cpu * 1e6 / counted : 0, counted ? own * 1e6 / counted : 0);
}

static void run(int poller, double rate, double seconds, double warm) {
    double start = now(), end = start + warm + seconds, next = start, cpu = 0, own = 0;
    size_t before = 0;
    int measuring = 0;
    measured_from = start + warm;
    first_opaque = opaque + 1;
    while (now() < end) {
        next = send_due(next, end, rate);
        if (!measuring && now() >= measured_from) {
            measuring = 1;
            before = answers; cpu = seconds_of(server_clock); own = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        }
        wait_and_read(poller, next < end ? next : end);
    }
    for (struct connection *c = connections; c < connections + connected; c++) c->owes = 0;
    if (!is_open) next = end;
    while ((outstanding || next < end) && now() < end + DRAIN_MAX_S) {  /* open loop: also requests that are due and not sent */
        next = send_due(next, end, rate);
        wait_and_read(poller, next < end ? 0 : now() + .01);
    }
    double took = now() - measured_from;
    cpu = seconds_of(server_clock) - cpu;
    own = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - own;
    report(rate, own, cpu, answers - before, took);
}

int main(int count, char **words) {
    if (count != 10) fail("usage: nspaced PORT PID CONNECTIONS RATE open|closed json|rocketmq TOPICS SECONDS WARM_S");
    if (clock_getcpuclockid(number(words[2], 1, INT32_MAX), &server_clock)) fail("no such process");
    int port = number(words[1], 1, 65535), rate = number(words[4], 1, RATE_MAX);
    connected = number(words[3], 1, CONNECTIONS_MAX);
    is_open = !strcmp(words[5], "open");
    make_template(words[6]);
    topics = number(words[7], 1, TOPICS_MAX);
    double seconds = atof(words[8]), warm = atof(words[9]);
    if (seconds <= 0 || warm < 0 || seconds + warm > SECONDS_MAX) fail("SECONDS and WARM_S are up to 60 together");
    due_at = malloc(PLANNED_MAX * sizeof *due_at);
    latencies_us = malloc(PLANNED_MAX * sizeof *latencies_us);
    late_us = malloc(PLANNED_MAX * sizeof *late_us);
    sent_at = malloc(PLANNED_MAX * sizeof *sent_at);
    since_sent_us = malloc(PLANNED_MAX * sizeof *since_sent_us);
    if (!due_at || !latencies_us || !late_us || !sent_at || !since_sent_us) fail("no memory");
    prctl(PR_SET_TIMERSLACK, 1);                                       /* ns; the default of 50 us would delay requests */
    signal(SIGPIPE, SIG_IGN);                                          /* a failed write then reports itself */
    run(connect_all(connections, sizeof *connections, port, connected), rate, seconds, warm);
    return 0;
}
